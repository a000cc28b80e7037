import { commonStrings } from "./common.ts";
import { schedulesStrings } from "./schedules.ts";
import { sessionsStrings } from "./sessions.ts";
import { settingsStrings } from "./settings.ts";
import { featuresStrings } from "./features.ts";
import { talkStrings } from "./talk.ts";

/** Every text of the page. A translation replaces the files imported here. */
export const strings = {
  ...commonStrings,
  ...sessionsStrings,
  ...talkStrings,
  ...settingsStrings,
  ...featuresStrings,
  ...schedulesStrings,
} as const;
