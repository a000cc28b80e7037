import { z } from "zod";

/** Which sessions may be listed, read and searched: those of the same lane, of the same project, or all of the owner. */
export const sessionReach = z.enum(["own", "project", "all"]);
export type SessionReach = z.infer<typeof sessionReach>;

export const memoryAccess = z.enum(["none", "read", "write"]);
export type MemoryAccess = z.infer<typeof memoryAccess>;

export const profileName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, "expected 1 to 40 lower-case letters, digits and hyphens");

/** A tool's name, or how names begin followed by a star. */
export const toolPattern = z
  .string()
  .regex(
    /^(?:[A-Za-z0-9_.-]{1,128}|[A-Za-z0-9_.-]{0,127}\*)$/,
    "expected a tool's name, or the beginning of one followed by *",
  );

const rightsFields = {
  tools: z.array(toolPattern).max(200),
  sessions: sessionReach,
  memory: memoryAccess,
  /** Whether approvals may be answered. */
  approvals: z.boolean(),
};

/** What a message may cause: the rights of its profile, or of several that all have to allow it. */
export const rights = z.looseObject({
  /** The name of the profile; names joined by `+` where several apply. */
  profile: z.string().min(1).max(1_000),
  ...rightsFields,
  /** For each profile with a limit: millionths of a dollar within 24 hours. */
  spend: z.record(z.string(), z.int().nonnegative()).optional(),
});
export type Rights = z.infer<typeof rights>;

/** A named set of rights, as its owner sets it. */
export const rightsProfile = z.strictObject({
  name: profileName,
  ...rightsFields,
  /** Millionths of a dollar within 24 hours; without it there is no limit of its own. */
  spendMicrosPerDay: z.int().nonnegative().optional(),
});
export type RightsProfile = z.infer<typeof rightsProfile>;

export function rightsOf({ name, spendMicrosPerDay, ...fields }: RightsProfile): Rights {
  return {
    profile: name,
    ...fields,
    tools: [...narrowestPatterns(fields.tools)],
    ...(spendMicrosPerDay !== undefined && { spend: { [name]: spendMicrosPerDay } }),
  };
}

/** Profiles that always exist and cannot be changed. */
export const builtInProfiles = {
  /** Token, page, terminal and private chats. */
  owner: { name: "owner", tools: ["*"], sessions: "all", memory: "write", approvals: true },
  /** Chats with several people. */
  group: { name: "group", tools: ["*"], sessions: "own", memory: "none", approvals: false },
  /** Programs, which may pass on anybody's text. */
  webhook: { name: "webhook", tools: ["*"], sessions: "own", memory: "none", approvals: false },
  /** New API keys, whose sessions have an owner of their own. What they cause is approved by somebody else. */
  program: { name: "program", tools: ["*"], sessions: "all", memory: "none", approvals: false },
  /** API keys that also answer the approvals of their sessions. */
  own: { name: "own", tools: ["*"], sessions: "all", memory: "none", approvals: true },
} as const satisfies Record<string, RightsProfile | { readonly tools: readonly string[] }>;

export const ownerRights: Rights = rightsOf({ ...builtInProfiles.owner, tools: ["*"] });

/** For a profile that is missing. */
export const noRights: Rights = {
  profile: "none",
  tools: [],
  sessions: "own",
  memory: "none",
  approvals: false,
};

/** Nothing is refused, so there is nothing to record. */
export function isUnlimited({ tools, sessions, memory, approvals, spend }: Rights): boolean {
  const isFree = tools.includes("*") && sessions === "all" && memory === "write";
  return isFree && approvals && spend === undefined;
}

export function mayUseTool({ tools }: Pick<Rights, "tools">, name: string): boolean {
  return tools.some((pattern) => coversPattern(pattern, name));
}

/** What both allow. The order does not matter. */
export function intersectRights(a: Rights, b: Rights): Rights {
  const spend = mergeSpend(a.spend, b.spend);
  return {
    profile: [...new Set([...a.profile.split("+"), ...b.profile.split("+")])].toSorted().join("+"),
    tools: [
      ...narrowestPatterns(
        a.tools.flatMap((one) => b.tools.flatMap((other) => narrower(one, other) ?? [])),
      ),
    ],
    sessions: lesser(sessionReach.options, a.sessions, b.sessions),
    memory: lesser(memoryAccess.options, a.memory, b.memory),
    approvals: a.approvals && b.approvals,
    ...(spend && { spend }),
  };
}

/** Whether `inner` allows nothing that `outer` does not. */
export function isWithinRights(inner: Rights, outer: Rights): boolean {
  const atMost = <T>(order: readonly T[], one: T, other: T) =>
    order.indexOf(one) <= order.indexOf(other);
  return (
    inner.tools.every((tool) => outer.tools.some((pattern) => coversPattern(pattern, tool))) &&
    atMost(sessionReach.options, inner.sessions, outer.sessions) &&
    atMost(memoryAccess.options, inner.memory, outer.memory) &&
    (outer.approvals || !inner.approvals) &&
    Object.entries(outer.spend ?? {}).every(
      ([name, limit]) => (inner.spend?.[name] ?? Infinity) <= limit,
    )
  );
}

function lesser<T>(order: readonly T[], a: T, b: T): T {
  return order.indexOf(a) < order.indexOf(b) ? a : b;
}

function mergeSpend(a: Rights["spend"], b: Rights["spend"]): Rights["spend"] {
  if (a === undefined || b === undefined) return a ?? b;
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();
  return Object.fromEntries(
    names.map((name) => [name, Math.min(a[name] ?? Infinity, b[name] ?? Infinity)]),
  );
}

/** Patterns have a star at the end only, so of two that share a name one covers the other. */
function coversPattern(outer: string, inner: string): boolean {
  if (!outer.endsWith("*")) return outer === inner;
  return inner.startsWith(outer.slice(0, -1));
}

function narrower(a: string, b: string): string | null {
  if (coversPattern(a, b)) return b;
  return coversPattern(b, a) ? a : null;
}

/** Sorted, without those that another one covers. */
function narrowestPatterns(patterns: readonly string[]): readonly string[] {
  const unique = [...new Set(patterns)];
  return unique
    .filter((one) => !unique.some((other) => other !== one && coversPattern(other, one)))
    .toSorted();
}

/** Whoever can be given a profile: one lane, webhook or schedule, or all of a kind. */
export const rightsSubject = z
  .string()
  .regex(
    /^(?:lane:[\x21-\x7e]{1,200}|webhook:[a-z0-9-]{1,60}|schedule:sch_[a-z0-9]{1,40}|groups|webhooks|schedules|children|editors)$/,
    "expected groups, webhooks, schedules, children, editors, webhook:NAME, schedule:ID or lane:LANE",
  )
  .brand("RightsSubject");
export type RightsSubject = z.infer<typeof rightsSubject>;
