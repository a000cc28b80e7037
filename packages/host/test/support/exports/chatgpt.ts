/** One node of a conversation of ChatGPT: who said it, after what, and what. */
export interface ChatGptNode {
  readonly id: string;
  readonly parent: string | null;
  readonly role?: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
}

const firstTime = 1_700_000_000;

export const said = (
  id: string,
  parent: string | null,
  role: string,
  text: string,
  more: Readonly<Record<string, unknown>> = {},
): ChatGptNode => ({ id, parent, role, content: { content_type: "text", parts: [text] }, ...more });

/** As an export has it: a tree of nodes, and the one that was shown last. */
export function chatGptConversation(
  id: string,
  nodes: readonly ChatGptNode[],
  more: Readonly<Record<string, unknown>> = {},
) {
  const mapping: Record<string, unknown> = {
    root: { id: "root", message: null, parent: null, children: [] },
  };
  for (const [
    index,
    { id: node, parent, role = "user", content, name = null, ...fields },
  ] of nodes.entries())
    mapping[node] = {
      id: node,
      parent: parent ?? "root",
      children: [],
      message: {
        id: node,
        author: { role, name, metadata: {} },
        create_time: firstTime + index,
        content,
        status: "finished_successfully",
        recipient: "all",
        metadata: role === "assistant" ? { model_slug: "gpt-5" } : {},
        ...fields,
      },
    };
  return {
    title: `Talk ${id}`,
    create_time: firstTime,
    update_time: firstTime + nodes.length,
    mapping,
    current_node: nodes.at(-1)?.id,
    conversation_id: id,
    id,
    is_archived: false,
    ...more,
  };
}

export const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

/** One of each thing that exports are known to have. */
export function everyKindOfMessage() {
  return chatGptConversation(
    "every",
    [
      {
        id: "ctx",
        parent: null,
        content: {
          content_type: "user_editable_context",
          user_profile: "I sail.",
          user_instructions: "Be brief.",
        },
      },
      {
        id: "mem",
        parent: "ctx",
        role: "system",
        content: {
          content_type: "model_editable_context",
          model_set_context: "1. [2025-01-02]. Keeps bees.\n2. [2025-01-03]. Lives in Kiel.",
        },
      },
      {
        id: "u1",
        parent: "mem",
        content: {
          content_type: "multimodal_text",
          parts: [
            {
              content_type: "image_asset_pointer",
              asset_pointer: "sediment://file_00ab",
              size_bytes: 70,
            },
            "What is this?",
            { content_type: "image_asset_pointer", asset_pointer: "file-service://file-Gone1" },
          ],
        },
        metadata: { attachments: [{ id: "file-Doc1", name: "notes.txt" }] },
      },
      {
        id: "th",
        parent: "u1",
        role: "assistant",
        content: {
          content_type: "thoughts",
          thoughts: [{ summary: "Looking", content: "A dot." }],
        },
      },
      {
        id: "rr",
        parent: "th",
        role: "assistant",
        content: { content_type: "reasoning_recap", content: "Thought for 3s" },
      },
      {
        id: "call",
        parent: "rr",
        role: "assistant",
        recipient: "python",
        content: { content_type: "code", language: "python", text: "print(1)" },
      },
      {
        id: "out",
        parent: "call",
        role: "tool",
        name: "python",
        content: { content_type: "execution_output", text: "1\n" },
      },
      {
        id: "out2",
        parent: "out",
        role: "tool",
        name: "python",
        content: {
          content_type: "multimodal_text",
          parts: [
            { content_type: "image_asset_pointer", asset_pointer: "file-service://file-Plot1" },
          ],
        },
      },
      said("a1", "out2", "assistant", "A dot\uE200cite\uE202turn0search0\uE201.", {
        metadata: {
          model_slug: "gpt-5",
          content_references: [
            {
              matched_text: "\uE200cite\uE202turn0search0\uE201",
              alt: " ([source](https://example.com))",
            },
          ],
        },
      }),
      said("hidden", "a1", "user", "Keep going quietly.", {
        metadata: { is_visually_hidden_from_conversation: true },
      }),
      {
        id: "web",
        parent: "hidden",
        role: "assistant",
        recipient: "web.run",
        content: { content_type: "code", text: '{"q":"dots"}' },
      },
      {
        id: "odd",
        parent: "web",
        role: "assistant",
        content: { content_type: "hologram", depth: 3 },
      },
      said("a2", "odd", "assistant", "Done.", { create_time: null }),
    ],
    { is_archived: true, gizmo_id: "g-p-0123456789abcdef", is_starred: true },
  );
}
