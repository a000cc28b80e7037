/** What a person should know about a file of a skill before they trust it. It proves nothing about what is not found. */
export function inspectFile(path: string, content: Buffer, executable: boolean): readonly string[] {
  const shown = JSON.stringify(path);
  if (isProgram(content)) return [`${shown} is a compiled program.`];
  const isScript = executable || content.subarray(0, 2).toString("latin1") === "#!";
  const found: string[] = [];
  if (isScript || scriptEnding.test(path)) found.push(`${shown} is a script or can be run.`);
  if (content.includes(0)) return found;
  const text = content.toString("utf8");
  const hidden = hiddenCharacter.exec(text);
  if (hidden !== null)
    found.push(
      `${shown} has invisible characters, first in line ${lineOf(text, hidden.index)} (${nameOf(hidden[0])}).`,
    );
  const lines = text.split("\n").map((line) => line.slice(0, maxLineLength));
  for (const { pattern, says } of suspicious) {
    const line = lines.findIndex((each) => pattern.test(each));
    if (line !== -1) found.push(`${shown}, line ${line + 1}: ${says}.`);
  }
  const hosts = [...new Set(lines.flatMap((line) => hostsIn(line)))];
  if (hosts.length > 0) {
    const more = hosts.length - maxHosts;
    const others = more > 0 ? ` and ${more} more` : "";
    found.push(
      `${shown} names network addresses: ${hosts.slice(0, maxHosts).join(", ")}${others}.`,
    );
  }
  return found;
}

const maxHosts = 5;
const maxLineLength = 2_000;
const scriptEnding =
  /\.(?:sh|bash|zsh|fish|py|rb|pl|js|mjs|cjs|ts|ps1|bat|cmd|exe|jar|app|php|lua)$/iu;

/** Direction marks, zero-width characters, tags and variation selectors that can carry text unseen. */
const hiddenCharacter =
  /[\u00AD\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]|[\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/u;

/** What instructions for a task rarely need. Each pattern takes time in proportion to the line. */
const suspicious: readonly { readonly pattern: RegExp; readonly says: string }[] = [
  {
    pattern:
      /\b(?:ignore|disregard|forget)\b.{0,40}\b(?:previous|earlier|above|other) instructions\b/iu,
    says: "it wants other instructions to be ignored",
  },
  {
    pattern:
      /\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|asking|ask)\b/iu,
    says: "it wants something to be kept from the person, or done without asking",
  },
  {
    pattern: /\b(?:curl|wget)\b[^|]{0,500}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b/iu,
    says: "it runs what it downloads",
  },
  { pattern: /\bbase64\s+(?:-d|-D|--decode)\b/u, says: "it decodes something before it is used" },
  {
    pattern:
      /(?:\.ssh\/|id_rsa|id_ed25519|\.aws\/credentials|\.netrc|\/etc\/shadow|\.holdfast\/token)/u,
    says: "it names files that hold secrets",
  },
  {
    pattern: /\brm\s+-(?=[a-z]*r)[a-z]+\s+(?:\/|~|\$HOME)/u,
    says: "it deletes whole folders",
  },
];

function isProgram(content: Buffer): boolean {
  const magic = content.subarray(0, 4).toString("hex");
  return (
    ["7f454c46", "cffaedfe", "cefaedfe", "cafebabe"].includes(magic) || magic.startsWith("4d5a")
  );
}

function hostsIn(line: string): readonly string[] {
  return [...line.matchAll(/\b(?:https?|ftp|wss?):\/\/(?<host>[A-Za-z0-9.-]{1,253})/gu)].map(
    ({ groups }) => (groups?.["host"] ?? "").toLowerCase(),
  );
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
