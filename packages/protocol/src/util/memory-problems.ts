/** Problems of what is known of a person. */
export const memoryProblems = {
  fact_not_found: {
    status: 404,
    title: "There is no such fact, or it does not wait for a decision any more.",
    next: "Read the facts again.",
  },
  fact_changed: {
    status: 409,
    title: "This fact was changed or deleted in the meantime.",
    next: "Read it again, and change what it says now.",
  },
  custom_instructions_changed: {
    status: 409,
    title: "Your instructions were changed in the meantime.",
    next: "Read them again, and change what they say now.",
  },
  memory_busy: {
    status: 503,
    title: "Another process is writing to memory.",
    next: "Wait a moment and send the same request again.",
  },
} as const;
