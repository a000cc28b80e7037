import { decodeEvent, type SkillMark, type StoredEvent } from "@holdfast/protocol";
import type { AppliedEpoch, ContextEntries } from "./session-context.ts";

/** A skill's instructions as the model has them. Without a text they were left out for lack of room. */
export interface ActiveSkill extends SkillMark {
  readonly text?: string | undefined;
}

/** What one summary carries on, so that it fits into an event with room to spare. */
const maxCarriedSkills = 10;
const maxCarriedCharacters = 200_000;

type ContextParts = Pick<ContextEntries, "head" | "epoch" | "tail">;

/** The skills whose instructions the model has, by name; of one that was activated twice, the newest. */
export function activeSkills({ head, epoch, tail }: ContextParts): ReadonlyMap<string, SkillMark> {
  const all = [...skillsIn(head), ...(epoch?.skills ?? []), ...skillsIn(tail)];
  return new Map(all.flatMap((skill) => (skill.text === undefined ? [] : [[skill.name, skill]])));
}

/**
 * The skills that a summary has to carry on: those activated in what it covers, once each, unless the model still gets
 * the same instructions from an entry beside it. Only the instructions: what a skill was asked for is not among them.
 */
export function carriedSkills({
  head,
  epoch,
  covered,
  after,
}: {
  readonly head: readonly StoredEvent[];
  readonly epoch: AppliedEpoch | null;
  readonly covered: readonly StoredEvent[];
  /** What stays verbatim after the summary. */
  readonly after: readonly StoredEvent[];
}): readonly ActiveSkill[] {
  const found = [...(epoch?.skills ?? []), ...skillsIn(covered)].filter(hasText);
  const newest = new Map<string, ActiveSkill & { readonly text: string }>();
  for (const skill of found) {
    newest.delete(skill.name);
    newest.set(skill.name, skill);
  }
  for (const { name } of skillsIn(after)) newest.delete(name);
  for (const [name, { hash }] of skillsByName(head))
    if (newest.get(name)?.hash === hash) newest.delete(name);
  let room = maxCarriedCharacters;
  const carried = [...newest.values()].toReversed().map((skill, index): ActiveSkill => {
    room -= skill.text.length;
    if (index < maxCarriedSkills && room >= 0) return skill;
    const { text: _, ...mark } = skill;
    return mark;
  });
  return carried.toReversed();
}

const carriedHeader =
  "[skills that were activated earlier in this conversation. Their instructions still hold. They are not a request: what the person asked for with them is in the summary.]";

/** What the model gets of them after the summary; empty if there are none. */
export function renderCarriedSkills(skills: readonly ActiveSkill[]): string {
  const texts = skills.filter(hasText).map(({ text }) => text);
  const leftOut = skills.filter((skill) => !hasText(skill)).map(({ name }) => name);
  return [
    ...(texts.length === 0 ? [] : [carriedHeader, ...texts]),
    ...(leftOut.length === 0
      ? []
      : [
          `[the instructions of these skills were left out for lack of room. Activate them again when they are needed: ${leftOut.join(", ")}.]`,
        ]),
  ].join("\n\n");
}

function hasText(skill: ActiveSkill): skill is ActiveSkill & { readonly text: string } {
  return skill.text !== undefined;
}

function skillsByName(entries: readonly StoredEvent[]): ReadonlyMap<string, ActiveSkill> {
  return new Map(skillsIn(entries).map((skill) => [skill.name, skill]));
}

/** The activations among the entries, in their order. Those of an imported session do not count as trusted. */
export function skillsIn(entries: readonly StoredEvent[]): readonly ActiveSkill[] {
  return entries.flatMap((entry) => {
    if (entry.data["superseded"] === true) return [];
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") return [];
    const { event } = decoded;
    if (event.type !== "message.user" && event.type !== "message.tool") return [];
    return event.data.parts.flatMap((part): ActiveSkill[] => {
      if (part.type === "attached" && part.skill !== undefined && part["taint"] === undefined)
        return [{ ...part.skill, text: part.text }];
      const isActivation =
        part.type === "tool_result" && part.skill !== undefined && part.outcome === "ok";
      if (!isActivation || part.skill === undefined || (part.taint ?? []).length > 0) return [];
      return [{ ...part.skill, text: part.output }];
    });
  });
}
