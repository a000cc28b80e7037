import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Config, settingNames } from "../../ops/config/settings.ts";
import { isSecret } from "../../ops/config/config-files.ts";
import { plainFile, secretFile } from "../../ops/config/read-config.ts";
import { readKeyId } from "../../ops/audit/audit-key.ts";
import { prepareHome } from "../../ops/config/home.ts";
import { isLoopback } from "../../util/ip-networks.ts";
import { errorFinding, warningFinding, type DoctorFinding, okFinding } from "./finding.ts";

const minTokenLength = 16;

/** Checks the home, its secrets, and who can read them. */
export function checkHome(config: Config): DoctorFinding[] {
  const home = config.home.value;
  const prepared = prepareHome(home);
  if (!prepared.ok)
    return [errorFinding("Home", prepared.failure.message, "Name another with HOLDFAST_HOME.")];
  return [
    checkMode("Home", home, 0o077, "700"),
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
      .map((path) => checkMode("Rights", path, 0o077, "600")),
    ...checkConfigFile(home),
    checkToken(config),
    ...checkAuditKey(home),
    checkSpills(join(home, "spill")),
  ];
}

function checkMode(what: string, path: string, forbiddenBits: number, mode: string): DoctorFinding {
  const actual = statSync(path).mode & 0o777;
  if ((actual & forbiddenBits) === 0) return okFinding(what, `${path} is yours alone`);
  const words = `${path} is open to others (${actual.toString(8)})`;
  return errorFinding(what, words, `chmod ${mode} ${path}`);
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
      "Rights",
      `${path} holds ${secrets.join(" and ")}, and others can read it`,
      `chmod 600 ${path}, or holdfast config set ${secrets[0]} …, which keeps it apart`,
    ),
  ];
}

function checkToken({ token, host, home }: Config): DoctorFinding {
  if (token.value !== undefined && token.value.length < minTokenLength) {
    const words = `the token has ${token.value.length} characters`;
    const mend = "Leave HOLDFAST_TOKEN out: one is made and kept in the home.";
    if (!isLoopback(host.value))
      return errorFinding("Token", `${words}, and ${host.value} is open`, mend);
    return warningFinding("Token", words, mend);
  }
  if (token.value !== undefined) return okFinding("Token", "set");
  const path = join(home.value, "token");
  if (!existsSync(path)) return okFinding("Token", "made at the first start");
  if (readFileSync(path, "utf8").trim() === "")
    return errorFinding("Token", `${path} is empty`, `rm ${path}; the next start makes a new one`);
  return okFinding("Token", `kept in ${path}`);
}

/** Those who check an export need to know which key is this host's. */
function checkAuditKey(home: string): DoctorFinding[] {
  const path = join(home, "audit.key");
  if (!existsSync(path)) return [];
  try {
    return [
      okFinding("Audit", `this host signs with the key ${readKeyId(readFileSync(path, "utf8"))}`),
    ];
  } catch {
    const mend = `Move ${path} away: a new key is made. Earlier signatures stay valid.`;
    return [errorFinding("Audit", `${path} is not a key`, mend)];
  }
}

/** Output that a host could not store. A running host imports it; leftovers are reported. */
function checkSpills(folder: string): DoctorFinding {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const spills = names.filter((name) => name.endsWith(".spill"));
  if (spills.length === 0) return okFinding("Spills", "none is left over");
  return warningFinding(
    "Spills",
    `${spills.length} in ${folder}`,
    "Start a host on this home: it brings them in by itself. Do not delete them.",
  );
}
