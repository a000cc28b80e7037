import { join } from "node:path";

import { listSaved, readRemoval, sizeOf } from "../../agent/snapshots/saved-size.ts";
import type { Config } from "../../ops/config/settings.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { formatTime } from "../transcript/describe.ts";
import { type DoctorFinding, okFinding, warningFinding } from "./finding.ts";

const { checks, saved: texts } = doctorStrings;
const bytesPerMegabyte = 1024 * 1024;
/** A removal is worth knowing for so long. */
const recentMs = 30 * 24 * 60 * 60_000;

/** How much is kept to undo what tools did to files, and whether some of it had to go lately. */
export async function checkSavedFiles(
  { home, snapshotSize }: Pick<Config, "home" | "snapshotSize">,
  now: number,
): Promise<DoctorFinding> {
  const folder = join(home.value, "snapshots");
  const megabytes = Math.ceil(sizeOf(await listSaved(folder)) / bytesPerMegabyte);
  const size = texts.size(megabytes, snapshotSize.value);
  const removal = await readRemoval(folder);
  if (removal === null || now - removal.at > recentMs) return okFinding(checks.saved, size);
  const words = texts.removed(size, formatTime(removal.upTo), formatTime(removal.at));
  return warningFinding(checks.saved, words, texts.mend);
}
