import { commonWords } from "./words/common.ts";
import { sessionsWords } from "./words/sessions.ts";
import { settingsWords } from "./words/settings.ts";
import { talkWords } from "./words/talk.ts";

/** Every word of the page. A translation replaces the files behind this one. */
export const words = { ...commonWords, ...sessionsWords, ...talkWords, ...settingsWords } as const;
