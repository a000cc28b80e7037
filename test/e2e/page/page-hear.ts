import { type EntryView, type SessionRead, sessionRead } from "@holdfast/protocol";
import type { Page } from "playwright-core";
import { answers } from "./page-rig.ts";

/** The conversation as the host answers it, with what another model would have said in place of what was said. */
export async function replaceAnswers(tab: Page, text: string): Promise<void> {
  await tab.route(/\/api\/sessions\/ses_[^/?]+(\?.*)?$/, async (route) => {
    const answer = await route.fetch();
    const read: SessionRead = sessionRead.parse(await answer.json());
    const entries = read.entries.map((entry): EntryView =>
      entry.type === "message" && entry.role === "assistant"
        ? { ...entry, parts: [{ type: "text", text }] }
        : entry,
    );
    await route.fulfill({ response: answer, json: { ...read, entries } });
  });
  await tab.reload();
  await answers(tab).waitFor();
}
