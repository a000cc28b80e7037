import { plural } from "@holdfast/protocol";

/** Every text of `holdfast memory`. A translation replaces this table. */
export const memoryStrings = {
  about:
    "What the agent knows about you. Some facts need your approval first, because the model had read text that a stranger may have written. Name a fact by its id, the beginning of its id, or words from its text.",
  flags: {
    text: "the new text of a fact",
    recall: "recall it only for messages that it fits, not in every session",
  },
  examples: {
    list: "facts with this word",
    forget: "delete the fact with this word",
    waiting: "facts that need your approval",
    keep: "keep the fact with this word",
    discard: "discard it",
  },
  use: { always: "every session", when_it_fits: "when it fits" },
  noFacts: "No facts match.",
  noneYet: "No facts yet. To add one: holdfast memory add <fact>",
  more: (count: number) =>
    `${plural(count, { one: "# more.", other: "# more." })} To narrow it down: holdfast memory list <words>`,
  textMissing: "Give the fact: holdfast memory add <text>",
  newTextMissing: "Give the new text: holdfast memory edit <fact> --text <text>",
  added: (text: string) => `Added: ${text}`,
  changed: (text: string) => `Changed: ${text}`,
  deleted: (text: string) => `Deleted: ${text}`,
  noMatch: (query: string) => `No fact matches "${query}". holdfast memory list shows them.`,
  severalMatch: (query: string) =>
    `Several facts match "${query}". Name one by the beginning of its id; holdfast memory list shows them.`,
  noneWaiting: "No facts need your approval.",
  after: (text: string, sources: string) => `${text} (after reading ${sources})`,
  noWaitingMatch: (query: string) =>
    `No fact that needs your approval matches "${query}". holdfast memory lists them.`,
  severalWaitingMatch: (query: string) =>
    `Several facts match "${query}". Name one by the beginning of its id; holdfast memory lists them.`,
  decided: {
    keep: (text: string) => `Kept: ${text}`,
    discard: (text: string) => `Discarded: ${text}`,
  },
} as const;
