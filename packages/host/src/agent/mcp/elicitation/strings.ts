import type { AskedField } from "./read-form.ts";

function range(least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined) return `from ${least} to ${most}`;
  if (least !== undefined) return `at least ${least}`;
  return most === undefined ? "" : `at most ${most}`;
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== "").join(", ");

const kinds = {
  text: "",
  number: "a number",
  whole_number: "a whole number",
  yes_or_no: "yes or no",
  choice: "one of",
  choices: "some of",
} as const;

const formats = {
  email: "an email address",
  uri: "an address (URL)",
  date: "a date such as 2026-04-30",
  "date-time": "a time such as 2026-04-30T12:00:00Z",
  text: "a text",
} as const;

const usualText = (usual: NonNullable<AskedField["usual"]>): string => {
  if (typeof usual === "boolean") return usual ? "yes" : "no";
  return Array.isArray(usual) ? usual.join(", ") : String(usual);
};

/** What people read when an MCP server asks them something. */
export const elicitationStrings = {
  yes: "Yes",
  no: "No",
  asItIs: "Send it as it is",
  opened: "I have opened it",
  lead: (server: string, tool: string) => `The MCP server **${server}** asks, for \`${tool}\`:`,
  again: (problems: readonly string[]) => `That answer did not fit: ${problems.join(" ")}`,
  kept: (server: string) =>
    `The answer is sent to ${server} and kept in this conversation: never enter a password or a key.`,
  secretAsked: (titles: readonly string[]) =>
    `⚠ This looks like a secret: ${titles.join(", ")}. A server must not ask for secrets this way. Decline unless you are sure that it is not one.`,
  linkLead: (server: string, tool: string) =>
    `The MCP server **${server}** asks you to open a page, for \`${tool}\`:`,
  host: (host: string) =>
    `The page is at **${host}**. Open it only if you trust it: whatever you enter there goes to ${host}, not to Holdfast.`,
  field({ title, about, kind, format, options, isNeeded, usual, min, max }: AskedField): string {
    const labels = (options ?? []).map(({ label }) => label).join(" / ");
    const limits = range(min, max);
    const size = kind === "text" && limits !== "" ? `${limits} characters` : limits;
    const facts = joined([
      options === undefined ? kinds[kind] : `${kinds[kind]} ${labels}`,
      format === undefined ? "" : formats[format],
      size,
      isNeeded ? "required" : "optional",
      usual === undefined ? "" : `default: ${usualText(usual)}`,
    ]);
    return `- **${title}** (${facts})${about === undefined ? "" : `: ${about}`}`;
  },
  hint: (title: string) => `Answer with one line per field, such as \`${title}: …\`.`,
  linesNeeded: (title: string) => `Write one line per field, such as "${title}: …".`,
  missing: (title: string) => `${title} is required.`,
  notYesOrNo: (title: string) => `${title} must be yes or no.`,
  notNumber: (title: string, kind: "number" | "whole_number") => `${title} must be ${kinds[kind]}.`,
  outside: (title: string, least?: number, most?: number) =>
    `${title} must be ${range(least, most)}.`,
  wrongLength: (title: string, least?: number, most?: number) =>
    `${title} must have ${range(least, most)} characters.`,
  wrongCount: (title: string, least?: number, most?: number) =>
    `Choose ${range(least, most)} for ${title}.`,
  notOption: (title: string, labels: readonly string[]) =>
    `${title} must be one of: ${labels.join(", ")}.`,
  notFormat: (title: string, format: keyof typeof formats) =>
    `${title} must be ${formats[format]}.`,
  /** For the model, with the result of its call. */
  notes: {
    declined: "a person declined to answer",
    expired: "nobody answered in time",
    unattended:
      "nobody was asked, because the people in this conversation cannot answer for the owner. Ask from the page or a private chat",
    unreadable: "the form cannot be shown to people, so it was declined",
    unsafeLink: "the page does not have an https address, so it was declined",
    tooMany: "it asked too often, so it was declined",
    noFit: "the person's answers did not fit its form",
    unplaced:
      "several conversations used the server at once, so it was not clear which one it asked. Call it again",
  },
  note: (server: string, notes: readonly string[]) =>
    `[${server} asked a person something: ${notes.join("; ")}.]`,
  openFirst: (server: string, hosts: readonly string[]) =>
    `${server} did nothing: it needs the person to finish on a page first (${hosts.join(", ")}).`,
  openedNow: "They opened it. Call the tool again once they say that they are done.",
  notOpened: "They did not open it.",
} as const;
