const root = "00000000-0000-4000-8000-000000000000";
const firstTime = Date.UTC(2025, 0, 2, 3, 4, 5);

export interface ClaudeSaid {
  readonly id: string;
  readonly parent?: string | null;
  readonly sender: "human" | "assistant";
  readonly content: readonly unknown[];
  readonly [field: string]: unknown;
}

export const text = (said: string) => ({ type: "text", text: said });

/** As an export has it. Without parents, as older ones have. */
export function claudeConversation(
  id: string,
  messages: readonly ClaudeSaid[],
  more: Readonly<Record<string, unknown>> = {},
) {
  const hasTree = messages.some(({ parent }) => parent !== undefined);
  return {
    uuid: id,
    name: `Talk ${id}`,
    created_at: new Date(firstTime).toISOString(),
    updated_at: new Date(firstTime + messages.length * 1_000).toISOString(),
    account: { uuid: "account" },
    chat_messages: messages.map(({ id: uuid, parent, sender, content, ...fields }, index) => ({
      uuid,
      sender,
      text: "",
      content,
      created_at: new Date(firstTime + index * 1_000).toISOString(),
      attachments: [],
      files: [],
      ...(hasTree && { parent_message_uuid: parent ?? root }),
      ...fields,
    })),
    ...more,
  };
}

/** One of each thing that exports are known to have. */
export function everyClaudeMessage() {
  return claudeConversation(
    "c-every",
    [
      {
        id: "h1",
        parent: null,
        sender: "human",
        content: [text("Look at this.")],
        attachments: [{ file_name: "", file_type: "txt", extracted_content: "pasted words" }],
        files: [{ file_uuid: "f1", file_name: "boat.png" }],
      },
      {
        id: "r1",
        parent: "h1",
        sender: "assistant",
        content: [
          { type: "thinking", thinking: "A boat." },
          text("Searching."),
          { type: "tool_use", id: "t1", name: "web_search", input: { query: "boat" } },
          {
            type: "tool_result",
            tool_use_id: "t1",
            name: "web_search",
            content: [
              {
                type: "knowledge",
                title: "Boats",
                url: "https://example.com",
                text: "They float.",
              },
            ],
            is_error: false,
          },
          { type: "tool_use", name: "artifacts", input: { command: "create" } },
          { type: "token_budget" },
          { type: "hologram", depth: 3 },
          text("It floats."),
        ],
      },
      { id: "h2", parent: "r1", sender: "human", content: [text("Why?")] },
      { id: "r2", parent: "h2", sender: "assistant", content: [text("Density.")] },
      { id: "r2b", parent: "h2", sender: "assistant", content: [text("Archimedes.")] },
    ],
    { is_starred: true, project: { uuid: "p1", name: "Boats" }, current_leaf_message_uuid: "r2b" },
  );
}

export const claudeProject = {
  uuid: "p1",
  name: "Boats",
  prompt_template: "Speak like a sailor.",
  docs: [{ uuid: "d1", filename: "knots.md", content: "# Knots" }],
};

export const claudeMemories = {
  conversations_memory: "**Work context**\n\nBuilds boats.\n\nLikes tea.",
  project_memories: { p1: "The hull is oak." },
  account_uuid: "account",
};
