import { plural } from "@holdfast/protocol";

/** Texts about what a person writes for the agent. */
export const agentStrings = {
  instructions: {
    title: "Custom instructions",
    hint: "How the agent should answer you, and what it should always keep in mind.",
    applies:
      "New conversations start with this text. A change does not reach conversations that have begun; if you delete the text, it leaves all of them with their next answer.",
    label: "Instructions",
    placeholder: "Answer briefly. Use metric units. Show code in TypeScript.",
    left: (count: number) => plural(count, { one: "# character left", other: "# characters left" }),
    save: "Save",
    saved: "Saved. New conversations start with it.",
    delete: "Delete",
    deleteTitle: "Delete your instructions?",
    deleteHint:
      "The text and its earlier versions are deleted. No conversation gets them from its next answer on.",
    deleted: "Instructions deleted.",
    conflict:
      "They were changed elsewhere in the meantime. What you typed is still here; save again to replace the other text.",
    versions: (count: number) => plural(count, { one: "# earlier text", other: "# earlier texts" }),
    restore: "Use this text",
  },
  prompt: {
    title: "System prompt",
    hint: "What the model is given before the conversation, as this conversation has it.",
    none: "The first answer has not been asked for yet.",
    tokens: (count: number) => `about ${plural(count, { one: "# token", other: "# tokens" })}`,
    parts: {
      persona: "Persona",
      instructions: "Custom instructions",
      workspace: "Instructions of the folder",
      memory: "What is known about you",
    },
  },
} as const;
