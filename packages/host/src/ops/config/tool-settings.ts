import { z } from "zod";
import {
  type SessionMode,
  sessionMode,
  type WebSearchProvider,
  webSearchProviders,
} from "@holdfast/protocol";
import { isTimeZone } from "../../automation/schedules/occurrences.ts";
import { parseBaseUrl } from "../../agent/models/model-info.ts";
import { parseToolRule } from "../../agent/policy/rule.ts";
import { listOf, setting, wholeNumber } from "./setting.ts";

/** What tools may do, where, and who is asked. */
export const toolSettings = {
  toolPolicy: setting<"ask" | "read-only" | "trusted" | "deny">({
    about: "what tools may do without asking",
    allowed:
      "ask (reading is free, everything else asks), read-only (nothing but reading), trusted (everything but a shell) or deny",
    schema: z.enum(["ask", "read-only", "trusted", "deny"]),
    fallback: () => "ask",
    fallbackInWords: "ask",
  }),
  toolRules: setting<readonly string[]>({
    about: "what is allowed, asked for or denied beyond that, by rules",
    allowed: "rules like `allow terminal: git *` or `deny fetch_url`",
    schema: listOf(z.string().refine((rule) => parseToolRule(rule) !== null)),
    fallback: () => [],
    fallbackInWords: "none",
  }),
  disabledTools: setting<readonly string[]>({
    about: "tools that agents do not get",
    allowed:
      "names of tools, like fetch_url or wiki__search; a star at the end covers all tools of a server",
    schema: listOf(z.string().regex(/^[A-Za-z0-9_.-]{1,128}\*?$/)),
    fallback: () => [],
    fallbackInWords: "none",
  }),
  sessionMode: setting<SessionMode>({
    about: "the mode that new sessions begin in",
    allowed:
      "plan (only reads, and ends in a plan to approve), ask, edits (changes files without asking) or full (commands too, in the sandbox); where nobody answers approvals, at most ask",
    schema: sessionMode,
    fallback: () => "ask",
    fallbackInWords: "ask",
  }),
  timeZone: setting<string>({
    about: "the time zone in which the agent is told the time",
    allowed: "a time zone like Europe/Berlin",
    schema: z.string().max(100).refine(isTimeZone),
    fallback: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
    fallbackInWords: "that of the machine",
  }),
  mcpApprovals: setting<"on" | "off">({
    about:
      "whether MCP clients of this host may answer approvals: an agent behind one could then approve itself",
    allowed: "on or off",
    schema: z.enum(["on", "off"]),
    fallback: () => "off",
    fallbackInWords: "off",
  }),
  workspaceRoots: setting<readonly string[]>({
    about: "folders below which a session may name its workspace",
    allowed: "absolute paths of folders",
    schema: listOf(z.string().regex(/^\//)),
    fallback: () => [],
    fallbackInWords: "none: sessions work in the home",
  }),
  sharedRoots: setting<readonly string[]>({
    about: "those of workspaceRoots that every host on the same store sees at the same path",
    allowed: "absolute paths of folders",
    schema: listOf(z.string().regex(/^\//)),
    fallback: () => [],
    fallbackInWords: "none: the files of a session are on one host",
  }),
  egressAllow: setting<readonly string[]>({
    about: "hosts beyond the public internet that tools may fetch from",
    allowed: "hosts, or hosts with a port, like wiki.example.org or 127.0.0.1:8080",
    schema: listOf(z.string().regex(/^(\[[0-9a-f:]+\]|[a-z0-9.:_-]+)$/i)),
    fallback: () => [],
    fallbackInWords: "none",
  }),
  searchProvider: setting<WebSearchProvider | "auto" | "off">({
    about: "who searches the web for agents; without a provider they have no web_search",
    allowed:
      "auto (the first that has an address or a key: searxng, brave, tavily, exa), one of these names, or off",
    schema: z.enum(["auto", "off", ...webSearchProviders]),
    fallback: () => "auto",
    fallbackInWords: "auto",
  }),
  searxngUrl: setting<string | undefined>({
    about: "where SearXNG runs; its settings.yml needs json under search.formats",
    allowed: "an address like http://127.0.0.1:8888",
    schema: z
      .string()
      .max(1_000)
      .transform(parseBaseUrl)
      .refine((url) => url !== null),
    fallback: () => undefined,
    fallbackInWords: "none",
  }),
  sandbox: setting<"required" | "preferred" | "off">({
    about: "whether the processes of tools are confined",
    allowed:
      "required (nothing runs unconfined), preferred (confined where the system can, and otherwise people are told) or off",
    schema: z.enum(["required", "preferred", "off"]),
    fallback: () => "preferred",
    fallbackInWords: "preferred",
  }),
  sandboxFolders: setting<readonly string[]>({
    about: "further folders that confined processes may read",
    allowed: "absolute paths of folders",
    schema: listOf(z.string().regex(/^\/./)),
    fallback: () => [],
    fallbackInWords: "none: the system and the toolchains on PATH",
  }),
  sandboxProcesses: setting({
    about: "how many processes and threads a confined command may have at once",
    allowed: "a number from 400 to 100000",
    schema: wholeNumber(400, 100_000),
    fallback: () => 4_096,
    fallbackInWords: "4096",
  }),
  sandboxMemory: setting({
    about: "how many megabytes of memory a confined process may have",
    allowed: "a number from 0 (half of the machine's) to 1000000",
    schema: wholeNumber(0, 1_000_000),
    fallback: () => 0,
    fallbackInWords: "half of the machine's",
  }),
  sandboxFileSize: setting({
    about: "how many megabytes a file may have that a confined process writes",
    allowed: "a number from 1 to 1000000",
    schema: wholeNumber(1, 1_000_000),
    fallback: () => 8_192,
    fallbackInWords: "8192",
  }),
  snapshotSize: setting({
    about: "how many megabytes of files are kept to undo what tools did; the oldest go first",
    allowed: "a number from 1 to 1000000",
    schema: wholeNumber(1, 1_000_000),
    fallback: () => 4_096,
    fallbackInWords: "4096",
  }),
  delegateDepth: setting({
    about: "how deep agents may hand tasks on to children of theirs",
    allowed: "a number from 0 (not at all) to 5",
    schema: wholeNumber(0, 5),
    fallback: () => 2,
    fallbackInWords: "2",
  }),
  delegateChildren: setting({
    about: "how many children one run may have",
    allowed: "a number from 1 to 50",
    schema: wholeNumber(1, 50),
    fallback: () => 8,
    fallbackInWords: "8",
  }),
  processesPerSession: setting({
    about: "how many background processes a session may have at once",
    allowed: "a number from 0 (none at all) to 20",
    schema: wholeNumber(0, 20),
    fallback: () => 4,
    fallbackInWords: "4",
  }),
  processHours: setting({
    about: "how many hours a background process may run",
    allowed: "a number from 1 to 720",
    schema: wholeNumber(1, 720),
    fallback: () => 12,
    fallbackInWords: "12",
  }),
  processReports: setting<"turn" | "notice">({
    about: "what the end of a background process does in its session",
    allowed: "turn (the agent is told, behind what waits) or notice (only people see it)",
    schema: z.enum(["turn", "notice"]),
    fallback: () => "turn",
    fallbackInWords: "turn",
  }),
  processTurns: setting({
    about:
      "how many turns in a row the ends of background processes may begin in a session where nobody says anything",
    allowed: "a number from 0 to 1000",
    schema: wholeNumber(0, 1_000),
    fallback: () => 10,
    fallbackInWords: "10",
  }),
};
