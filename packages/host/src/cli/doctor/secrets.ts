import type { Config } from "../../ops/config/settings.ts";
import { withSecrets } from "../connection/with-secrets.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { type DoctorFinding, errorFinding, okFinding } from "./finding.ts";

const { checks, secrets: texts } = doctorStrings;

/** Whether this host's key opens every stored secret. */
export async function checkSecrets(config: Config): Promise<DoctorFinding> {
  const what = checks.secrets;
  const checked = await withSecrets(config, async ({ rows }) => {
    const reason = rows.locked();
    const unreadable = rows.unreadable();
    if (reason !== null) return errorFinding(what, reason.message, texts.lockedMend);
    if (unreadable.length > 0)
      return errorFinding(what, texts.unreadable(unreadable), texts.unreadableMend);
    return okFinding(what, texts.stored(rows.names().length));
  });
  return checked.ok ? checked.value : errorFinding(what, checked.failure.message, texts.storeMend);
}
