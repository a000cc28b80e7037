import { openObjectStorage } from "../../object-storage/open-object-storage.ts";
import type { Config } from "../../ops/config/settings.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { type DoctorFinding, errorFinding, okFinding } from "./finding.ts";

const { checks, objectStorage: texts } = doctorStrings;

/** Writes, reads, lists and deletes one object. */
export async function checkObjectStorage(config: Config): Promise<DoctorFinding[]> {
  const what = checks.objectStorage;
  const opened = await openObjectStorage(config);
  if (!opened.ok) return [errorFinding(what, opened.failure.message, texts.configMend)];
  if (opened.value === undefined) return [];
  const { probeObjectStorage } = await import("../../object-storage/probe.ts");
  const probed = await probeObjectStorage(opened.value);
  return [
    probed.ok
      ? okFinding(what, texts.ok(opened.value.location))
      : errorFinding(
          what,
          `${probed.failure.message} [${probed.failure.code}]`,
          probed.failure.advice,
        ),
  ];
}
