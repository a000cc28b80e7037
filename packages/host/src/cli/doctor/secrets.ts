import type { Config } from "../../ops/config/settings.ts";
import { withSecrets } from "../connection/with-secrets.ts";
import { type DoctorFinding, errorFinding, okFinding } from "./finding.ts";

/** Whether this host's key opens every stored secret. */
export async function checkSecrets(config: Config): Promise<DoctorFinding> {
  const what = "Secrets";
  const checked = await withSecrets(config, async ({ rows }) => {
    const reason = rows.locked();
    const unreadable = rows.unreadable();
    if (reason !== null)
      return errorFinding(what, reason.message, "Put the key there, and start again.");
    if (unreadable.length > 0)
      return errorFinding(
        what,
        `this key does not open ${unreadable.join(", ")}`,
        "Add the key that does to HOLDFAST_SECRETS_KEY or secrets.key, or store them again.",
      );
    return okFinding(what, `${rows.names().length} stored, encrypted`);
  });
  return checked.ok ? checked.value : errorFinding(what, checked.failure.message, "See the store.");
}
