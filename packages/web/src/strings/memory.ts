/** Texts about what the agent knows about a person. */
export const memoryStrings = {
  facts: {
    title: "What the agent knows about you",
    hint: "Facts from your conversations, and those you add. New conversations start with what applies to all of them; the rest is recalled when it fits. A deleted fact is no longer used, but conversations in which it was mentioned still contain it.",
    files:
      "Facts for all conversations are also in USER.md and MEMORY.md in the “memory” folder of the host's home. You can edit these files: your edits there win.",
    search: "Search",
    add: "Add a fact",
    addLabel: "New fact",
    addPlaceholder: "I prefer short answers",
    use: { always: "All conversations", when_it_fits: "When it fits" },
    chooseUse: (text: string) => `Used in: ${text}`,
    none: "Nothing yet. Say “Remember that …” in a conversation, or add a fact here.",
    notFound: "No fact contains these words.",
    more: (shown: number, total: number) =>
      `${shown.toLocaleString()} of ${total.toLocaleString()} shown. Search to find the rest.`,
    edit: "Edit",
    editNamed: (text: string) => `Edit: ${text}`,
    textLabel: "Fact",
    save: "Save",
    saved: "Saved.",
    added: "Fact added.",
    delete: "Delete",
    deleteNamed: (text: string) => `Delete: ${text}`,
    deleteTitle: "Delete this fact?",
    deleteHint:
      "No model gets it from now on. Conversations in which it was mentioned still contain it.",
    deleted: "Fact deleted.",
    conflict: "It was changed elsewhere in the meantime. This is what it says now.",
    waiting: "needs your approval",
    source: {
      said: "you said it",
      review: "noted after a conversation",
      tool: "noted by the agent",
      person: "added by you",
      file: (name: string) => `from ${name}`,
      unknown: "from elsewhere",
    },
    openSource: "Open the conversation",
    versions: (count: number) => (count === 1 ? "1 earlier text" : `${count} earlier texts`),
  },
} as const;
