import type { Page } from "playwright-core";
import type { Client } from "@holdfast/client";
import { type MessageEntry, type SessionId, textOf } from "@holdfast/protocol";

/** The text of each message on the page, with whitespace collapsed. */
export function shownMessages(tab: Page): Promise<string[]> {
  return tab
    .locator(".message .message-body")
    .evaluateAll((bodies) =>
      bodies.map((body) => (body instanceof HTMLElement ? body.innerText : "")),
    )
    .then((texts) => texts.map(collapseWhitespace));
}

/** The text of each stored message, in the same form. */
export async function storedMessages(client: Client, id: SessionId): Promise<string[]> {
  const read = await client.readSession({ params: { id } });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return (
    read.value.entries
      .filter((entry): entry is MessageEntry => entry.type === "message")
      // Tool results are shown with their calls.
      .filter(({ role }) => role !== "tool")
      .map(({ parts }) => collapseWhitespace(textOf(parts.filter((part) => part.type === "text"))))
  );
}

function collapseWhitespace(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
