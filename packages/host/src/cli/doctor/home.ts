import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Config, settingNames } from "../../ops/config/settings.ts";
import { isSecret } from "../../ops/config/config-files.ts";
import { plainFile, secretFile } from "../../ops/config/read-config.ts";
import { readKeyId } from "../../ops/audit/audit-key.ts";
import { prepareHome } from "../../ops/config/home.ts";
import { isLoopback } from "../../util/ip-networks.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { errorFinding, warningFinding, type DoctorFinding, okFinding } from "./finding.ts";

const { checks, home: texts } = doctorStrings;
const minTokenLength = 16;

/** Checks the home, its secrets, and who can read them. */
export function checkHome(config: Config): DoctorFinding[] {
  const home = config.home.value;
  const prepared = prepareHome(home);
  if (!prepared.ok) return [errorFinding(checks.home, prepared.failure.message, texts.mend)];
  return [
    checkMode(checks.home, home, 0o077, "700"),
    ...[
      "token",
      secretFile,
      "sign-ins.json",
      "secrets.json",
      "secrets.key",
      "audit.key",
      "holdfast.db",
    ]
      .map((name) => join(home, name))
      .filter((path) => existsSync(path))
      .map((path) => checkMode(checks.rights, path, 0o077, "600")),
    ...checkConfigFile(home),
    checkToken(config),
    ...checkAuditKey(home),
    checkSpills(join(home, "spill")),
  ];
}

function checkMode(what: string, path: string, forbiddenBits: number, mode: string): DoctorFinding {
  const actual = statSync(path).mode & 0o777;
  if ((actual & forbiddenBits) === 0) return okFinding(what, texts.private(path));
  return errorFinding(what, texts.open(path, actual.toString(8)), texts.chmod(path, mode));
}

/** config.json may contain a secret, and then needs the rights of one. */
function checkConfigFile(home: string): DoctorFinding[] {
  const path = join(home, plainFile);
  if (!existsSync(path)) return [];
  const text = readFileSync(path, "utf8");
  const secrets = settingNames.filter((name) => isSecret(name) && text.includes(`"${name}"`));
  if (secrets.length === 0 || (statSync(path).mode & 0o077) === 0) return [];
  return [
    warningFinding(
      checks.rights,
      texts.secretsInConfig(path, secrets),
      texts.moveSecret(path, secrets[0] ?? ""),
    ),
  ];
}

function checkToken({ token, host, home }: Config): DoctorFinding {
  if (token.value !== undefined && token.value.length < minTokenLength) {
    const words = texts.tokenShort(token.value.length);
    if (!isLoopback(host.value))
      return errorFinding(
        checks.token,
        texts.tokenShortAndOpen(words, host.value),
        texts.tokenMend,
      );
    return warningFinding(checks.token, words, texts.tokenMend);
  }
  if (token.value !== undefined) return okFinding(checks.token, texts.tokenSet);
  const path = join(home.value, "token");
  if (!existsSync(path)) return okFinding(checks.token, texts.tokenLater);
  if (readFileSync(path, "utf8").trim() === "")
    return errorFinding(checks.token, texts.tokenEmpty(path), texts.removeToken(path));
  return okFinding(checks.token, texts.tokenKept(path));
}

/** Those who check an export need to know which key is this host's. */
function checkAuditKey(home: string): DoctorFinding[] {
  const path = join(home, "audit.key");
  if (!existsSync(path)) return [];
  try {
    return [okFinding(checks.audit, texts.auditKey(readKeyId(readFileSync(path, "utf8"))))];
  } catch {
    return [errorFinding(checks.audit, texts.auditBroken(path), texts.auditMend(path))];
  }
}

/** Output that a host could not store. A running host imports it; leftovers are reported. */
function checkSpills(folder: string): DoctorFinding {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const spills = names.filter((name) => name.endsWith(".spill"));
  if (spills.length === 0) return okFinding(checks.spills, texts.noSpills);
  return warningFinding(checks.spills, texts.spills(spills.length, folder), texts.spillsMend);
}
