import {
  type Seq,
  decodeEvent,
  type StoredEvent,
  textOf,
  type ToolResultPart,
} from "@holdfast/protocol";
import type { CountTokens, SummaryMaterial } from "../ports/background-models.ts";
import { type ActiveSkill, carriedSkills, renderCarriedSkills, skillsIn } from "./active-skills.ts";
import type { ContextEntries } from "./session-context.ts";

export interface CompactionSizes {
  /** How much is kept verbatim at the end, in tokens. */
  readonly tailTokens: number;
  readonly summaryTokens: number;
}

export interface CompactionPlan {
  readonly covers: { readonly from: Seq; readonly to: Seq };
  /** What is new to the summary; what an earlier summary covers is already in its text. */
  readonly material: readonly SummaryMaterial[];
  readonly previous: string | null;
  /** Tokens of what is covered, and of everything live. */
  readonly coveredTokens: number;
  readonly liveTokens: number;
  /** What the summary carries on. */
  readonly skills: readonly ActiveSkill[];
  readonly skillTokens: number;
}

/** A compaction has to free this share of what is live to be worth its cost. */
const minFreedShare = 0.2;

/**
 * Chooses what a summary covers. It starts after the first turn, or where the last summary started, and ends before the
 * tail: the newest message of a person and everything after it always stay, and so does what fits beside them. Units
 * are covered whole, so a call is never separated from its results. `null`: there is not enough to gain.
 */
export function planCompaction(
  entries: ContextEntries,
  count: CountTokens,
  sizes: CompactionSizes,
): CompactionPlan | null {
  const { epoch, head, tail } = entries;
  const units = unitsOf(tail, count);
  const start = epoch === null ? afterFirstTurn(units) : 0;
  const end = tailStart(units, start, sizes.tailTokens);
  const covered = units.slice(start, end);
  const [first] = covered;
  const last = covered.at(-1);
  if (first === undefined || last === undefined) return null;
  const skills = carriedSkills({
    head: epoch === null ? entriesUpTo(tail, first.first - 1) : head,
    epoch,
    covered: tail.filter(({ seq }) => seq >= first.first && seq <= last.last),
    after: tail.filter(({ seq }) => seq > last.last),
  });
  const skillTokens = tokensOfSkills(skills, count);
  const previousTokens =
    epoch === null ? 0 : count(epoch.summary) + tokensOfSkills(epoch.skills ?? [], count);
  const coveredTokens = tokensOf(covered) + previousTokens;
  const liveTokens = tokensOf(units) + tokensOf(unitsOf(head, count)) + previousTokens;
  const plan = {
    covers: { from: epoch?.covers.from ?? first.first, to: last.last },
    material: covered.flatMap(({ material }) => material),
    previous: epoch?.summary ?? null,
    coveredTokens,
    liveTokens,
    skills,
    skillTokens,
  };
  return isWorthIt(plan, sizes.summaryTokens) ? plan : null;
}

/** Whether a summary of that length frees enough. */
export function isWorthIt(
  {
    coveredTokens,
    liveTokens,
    skillTokens,
  }: Pick<CompactionPlan, "coveredTokens" | "liveTokens" | "skillTokens">,
  summaryTokens: number,
): boolean {
  return coveredTokens - summaryTokens - skillTokens >= liveTokens * minFreedShare;
}

function tokensOfSkills(skills: readonly ActiveSkill[], count: CountTokens): number {
  return skills.length === 0 ? 0 : count(renderCarriedSkills(skills));
}

function entriesUpTo(entries: readonly StoredEvent[], last: number): readonly StoredEvent[] {
  return entries.filter(({ seq }) => seq <= last);
}

/**
 * The first message with its answer says what the conversation is about. On its own, the first message would precede
 * the summary like a second request.
 */
function afterFirstTurn(units: readonly Unit[]): number {
  const [first, second] = units;
  return first?.kind === "user" && second?.kind === "answer" ? 2 : 0;
}

function tailStart(units: readonly Unit[], start: number, tailTokens: number): number {
  const newest = units.findLastIndex(({ kind }) => kind === "user");
  let end = newest === -1 ? units.length : newest;
  let keptTokens = tokensOf(units.slice(end));
  while (end > start) {
    const unit = units[end - 1];
    if (unit === undefined || keptTokens + unit.tokens > tailTokens) break;
    keptTokens += unit.tokens;
    end -= 1;
  }
  return end;
}

function tokensOf(units: readonly Unit[]): number {
  return units.reduce((sum, unit) => sum + unit.tokens, 0);
}

/**
 * Entries that stay together: a person's message, or an answer with everything its calls produced. Anything else
 * belongs to the unit before it.
 */
export interface Unit {
  readonly kind: "user" | "answer";
  readonly first: Seq;
  readonly last: Seq;
  readonly tokens: number;
  readonly material: readonly SummaryMaterial[];
}

function unitsOf(entries: readonly StoredEvent[], count: CountTokens): readonly Unit[] {
  const units: Unit[] = [];
  for (const entry of entries) {
    const lastUnit = units.at(-1);
    // No unit has started yet.
    if (lastUnit === undefined && !startsUnit(entry)) continue;
    const spoken = materialOf(entry);
    const instructions = skillsIn([entry]).map(({ text = "" }) => text);
    const texts = [...spoken.map(({ text }) => text), ...instructions];
    const tokens = texts.reduce((sum, text) => sum + count(text), 0);
    if (lastUnit !== undefined && !startsUnit(entry)) {
      const material = [...lastUnit.material, ...spoken];
      units[units.length - 1] = {
        ...lastUnit,
        last: entry.seq,
        tokens: lastUnit.tokens + tokens,
        material,
      };
      continue;
    }
    const kind = entry.type === "message.user" ? "user" : "answer";
    units.push({ kind, first: entry.seq, last: entry.seq, tokens, material: spoken });
  }
  return units;
}

function startsUnit({ type }: StoredEvent): boolean {
  return type === "message.user" || type === "message.assistant";
}

function materialOf(entry: StoredEvent): readonly SummaryMaterial[] {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known") return [];
  const { event } = decoded;
  switch (event.type) {
    case "message.user":
      return [{ role: "user", text: textOf(event.data.parts) }];
    case "message.assistant": {
      const callTexts = event.data.parts.flatMap((part) =>
        part.type === "tool_call" ? [`[calls ${part.name} ${JSON.stringify(part.input)}]`] : [],
      );
      return [
        { role: "assistant", text: [textOf(event.data.parts), ...callTexts].join("\n").trim() },
      ];
    }
    case "message.tool":
      return event.data.parts.flatMap((part): SummaryMaterial[] =>
        part.type === "tool_result"
          ? [{ role: "tool", text: `[${part.name}: ${part.outcome}] ${outputForSummary(part)}` }]
          : [],
      );
    default:
      return [];
  }
}

/** A skill's instructions are carried on as they are. */
function outputForSummary({ output, skill }: ToolResultPart): string {
  return skill === undefined ? output : `The skill ${skill.name} was activated.`;
}
