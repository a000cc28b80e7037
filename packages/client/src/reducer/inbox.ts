import type { EventData, KnownEvent, InboxItem } from "@holdfast/protocol";

export function foldInbox(
  inbox: readonly InboxItem[],
  event: Extract<KnownEvent, { type: `input.${string}` }>,
): readonly InboxItem[] {
  switch (event.type) {
    case "input.accepted": {
      const { hash: _, attachments = [], ...shown } = event.data;
      return [...inbox, { ...shown, attachments, seq: event.seq, acceptedAt: event.at }];
    }
    case "input.changed":
      return inbox.map((item) =>
        item.messageId === event.data.messageId ? replaceContent(item, event.data) : item,
      );
    case "input.removed":
      return inbox.filter((item) => item.messageId !== event.data.messageId);
  }
}

/** The new content stands for the whole: without attachments it has none. */
function replaceContent(item: InboxItem, data: EventData<"input.changed">): InboxItem {
  return { ...item, text: data.text, attachments: data.attachments ?? [] };
}
