import { stat } from "node:fs/promises";
import { join } from "node:path";

import { type Config, isPostgres } from "../../ops/config/settings.ts";
import { listBackups } from "../../ops/transfer/backup.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { formatTime } from "../transcript/describe.ts";
import { type DoctorFinding, okFinding, warningFinding } from "./finding.ts";

const { checks, backup: texts } = doctorStrings;
const oldAfterMs = 14 * 24 * 60 * 60_000;

/** PostgreSQL has tools of its own, of which nothing can be seen here; a store that is new has little to lose. */
export async function checkBackups(
  { home, store }: Pick<Config, "home" | "store">,
  now: number,
): Promise<DoctorFinding[]> {
  if (store.value !== undefined && isPostgres(store.value)) return [];
  const info = await stat(store.value ?? join(home.value, "holdfast.db")).catch(() => null);
  if (info === null) return [];
  const verified = (await listBackups(home.value)).find(({ verifiedAt }) => verifiedAt !== null);
  if (verified === undefined) {
    const isYoung = now - info.birthtimeMs < oldAfterMs;
    if (isYoung) return [okFinding(checks.backup, texts.young)];
    return [warningFinding(checks.backup, texts.none, texts.mend)];
  }
  const time = formatTime(verified.createdAt);
  if (now - verified.createdAt < oldAfterMs) return [okFinding(checks.backup, texts.newest(time))];
  return [warningFinding(checks.backup, texts.old(time), texts.mend)];
}
