import { commonWords } from "./common.ts";
import { schedulesWords } from "./schedules.ts";
import { sessionsWords } from "./sessions.ts";
import { settingsWords } from "./settings.ts";
import { surfacesWords } from "./features.ts";
import { talkWords } from "./talk.ts";

/** Every word of the page. A translation replaces the files behind this one. */
export const words = {
  ...commonWords,
  ...sessionsWords,
  ...talkWords,
  ...settingsWords,
  ...surfacesWords,
  ...schedulesWords,
} as const;
