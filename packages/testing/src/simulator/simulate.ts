import { newEvent, ownerId } from "@holdfast/protocol";
import { restore, type Store, requestCancel, resumeRun } from "@holdfast/engine";
import { answerOneApproval, SimClient } from "./client.ts";
import { checkSettled, checkReader } from "./check-end.ts";
import { checkLog } from "./check-log.ts";
import { checkEffects, checkInputs, checkRuns } from "./check-runs.ts";
import { type SeededRandom, seededRandom, createActor, Scheduler } from "./scheduler.ts";
import { readFinalStore, type SimProblem, SimRecord, recordedStore } from "./record.ts";
import { runNemesis } from "./nemesis.ts";
import { drawProfile, type SimProfile } from "./profile.ts";
import { SimReader } from "./reader.ts";
import { type OpenSimStore, type PlantStoreBug, type PlantSpillBug, SimWorld } from "./world.ts";
import { SimWriter } from "./writer.ts";

export interface SimOptions {
  readonly openStore: OpenSimStore;
  /** What isn't left to the seed. */
  readonly profile?: Partial<SimProfile> | undefined;
  /** A deliberate bug, to check that it is found. */
  readonly plant?: PlantStoreBug | undefined;
  readonly plantJournals?: PlantSpillBug | undefined;
}

export interface SimResult {
  readonly seed: number;
  readonly profile: SimProfile;
  readonly problems: readonly SimProblem[];
  readonly figures: Readonly<Record<SimFigure, number>>;
  /** Everything that happened, one line each. */
  readonly trace: () => readonly string[];
}

export type SimFigure =
  | "steps"
  | "commits"
  | "runs"
  | "acknowledged"
  | "effects"
  | "shown"
  | "spilled";

/** How much may happen after the faults have stopped until everything has finished. */
const settleLimits = { steps: 40_000, ms: 20 * 60_000 };

/** One run from one seed: the same seed gives the same run, byte for byte. */
export function simulate(seed: number, options: SimOptions): Promise<SimResult> {
  return withSyncDigest(() => runSeed(seed, options));
}

async function runSeed(seed: number, options: SimOptions): Promise<SimResult> {
  const chance = seededRandom(seed);
  const scheduler = new Scheduler(chance);
  const profile = { ...drawProfile(chance), ...options.profile };
  const record = new SimRecord(ownerId.parse("person"));
  const { plant = (inner) => inner, plantJournals = (inner) => inner, openStore } = options;
  const world = new SimWorld({ scheduler, profile, record, plant, plantJournals }, openStore);
  const store = world.openStore();
  await makeSessions(world, store, chance);
  startHosts(world);
  const readers = Array.from(
    { length: profile.readers },
    (_, index) => new SimReader(world, `reader ${index}`, chance.pick(world.sessions)),
  );
  for (const reader of readers) void reader.work();
  void runNemesis(world);
  const writers = Array.from({ length: profile.writers }, (_, index) =>
    new SimWriter(world, `writer ${index}`).work(),
  );
  while (scheduler.now < profile.troubleMs && (await scheduler.step()));
  const problems = [
    ...(profile.mode === "liveness" ? await settleAfterFaults(world, store, readers, writers) : []),
  ];
  const final = await readFinalStore(store);
  problems.push(
    ...record.noticed,
    ...checkLog(record, final),
    ...checkInputs(record, final),
    ...checkRuns(record, final),
    ...checkEffects(record, final),
    ...(profile.mode === "liveness" ? checkSettled(record, final) : []),
  );
  return {
    seed,
    profile,
    problems,
    figures: {
      steps: scheduler.steps,
      commits: record.commits.length,
      runs: final.sessions.reduce((sum, { runs }) => sum + runs.length, 0),
      acknowledged: record.acknowledged.length,
      effects: record.effects.length,
      shown: record.shown.length,
      spilled: record.spilled.length,
    },
    trace: () => scheduler.trace(),
  };
}

async function makeSessions(world: SimWorld, store: Store, chance: SeededRandom): Promise<void> {
  const { record, owner } = world;
  const ids = world.makeIds();
  const recorded = recordedStore(store, { record, host: "outset", step: () => 0 });
  for (let left = chance.between(1, 2); left > 0; left -= 1) {
    const session = ids.make("session");
    const events = [newEvent(ids.make("event"), "session.created", {})];
    await recorded.commit({ owner, session, events });
    world.sessions.push(session);
  }
}

function startHosts(world: SimWorld): void {
  const { scheduler, profile } = world;
  for (let slot = 0; slot < profile.hosts; slot += 1) {
    world.hosts.push(null);
    if (!scheduler.chance.happens(profile.lateStart)) world.start(slot);
    else
      scheduler.after(
        scheduler.chance.between(0, 5_000),
        createActor("nemesis"),
        "starts late",
        () => {
          if (world.hosts[slot] === null) world.start(slot);
        },
      );
  }
}

/** Stops the faults. Whatever is running must end, whatever is queued must be taken, and readers must see it. */
async function settleAfterFaults(
  world: SimWorld,
  store: Store,
  readers: readonly SimReader[],
  writers: readonly Promise<void>[],
): Promise<readonly SimProblem[]> {
  const { scheduler } = world;
  const from = { steps: scheduler.steps, ms: scheduler.now };
  world.stopFaults();
  scheduler.note(createActor("nemesis"), "TROUBLES STOP");
  let stillWriting = true;
  void Promise.all(writers).then(() => (stillWriting = false));
  void actAsPerson(world, store);
  for (;;) {
    for (let count = 0; count < 50; count += 1) await scheduler.step();
    if (!stillWriting && (await isSettled(world, store, readers))) break;
    const isOver =
      scheduler.steps - from.steps > settleLimits.steps ||
      scheduler.now - from.ms > settleLimits.ms;
    if (isOver)
      return [{ promise: "liveness", text: await describeUnsettled(world, store, readers) }];
  }
  const problems: SimProblem[] = [];
  for (const reader of readers)
    for await (const problem of checkReader(world, store, reader)) problems.push(problem);
  return problems;
}

/** What only a person can do: restore trashed sessions, answer approvals, decide on paused runs. */
async function actAsPerson(world: SimWorld, store: Store): Promise<void> {
  const client = new SimClient(world, "tidier");
  const commands = world.makeIds();
  const { owner, record } = world;
  for (;;) {
    await client.pause(2_000);
    for (const id of world.sessions) {
      const derived = await store.audit.derived(id);
      if (derived === null) continue;
      if (derived.session.trashedAt !== null)
        await client.ask("restore", ({ log, ids, holder }) =>
          restore({ log, ids, holder }, { owner, session: id }),
        );
      if (derived.session.liveState === "waiting")
        await client.ask("answer", (host) => answerOneApproval(world, host));
      for (const { id: runId } of derived.runs.filter(({ state }) => state === "paused")) {
        if (world.scheduler.chance.happens(0.5)) {
          const command = commands.make("event");
          await client.ask("resume", ({ log, ids }) =>
            resumeRun(log, ids, { owner, runId, command }),
          );
        } else {
          record.cancelAsked.add(runId);
          await client.ask("cancel", ({ log, ids }) => requestCancel(log, ids, owner, runId));
        }
      }
    }
  }
}

async function isSettled(
  world: SimWorld,
  store: Store,
  readers: readonly SimReader[],
): Promise<boolean> {
  return (await describeUnsettled(world, store, readers)) === "";
}

async function describeUnsettled(
  world: SimWorld,
  store: Store,
  readers: readonly SimReader[],
): Promise<string> {
  const missing: string[] = [];
  for await (const { id, trashedAt, liveRun, liveState, head } of store.audit.sessions()) {
    const name = world.nameOf(id);
    if (trashedAt !== null) missing.push(`${name} is in the trash`);
    if (liveRun !== null) missing.push(`${name} has a run that is ${liveState}`);
    const derived = await store.audit.derived(id);
    const waiting = derived?.inputs.filter(({ state }) => state === "queued").length ?? 0;
    if (waiting > 0) missing.push(`${waiting} messages wait in ${name}`);
    for (const reader of readers) {
      const { state } = reader;
      const isBehind = state?.seq !== head || state.readAgain !== null;
      if (reader.session === id && isBehind)
        missing.push(`${reader.name} is at ${state?.seq} of ${head} in ${name}`);
    }
  }
  for (const { place, files } of world.disks)
    if (files.size > 0) missing.push(`${files.size} spills lie in ${place}`);
  return missing.join("; ");
}

/**
 * The engine hashes with the platform's digest, which resolves from another thread at any time: the only thing it
 * awaits that isn't a port. During a simulation the digest resolves at once.
 */
export async function withSyncDigest<T>(work: () => Promise<T>): Promise<T> {
  const { subtle } = crypto;
  const before = Object.getOwnPropertyDescriptor(subtle, "digest");
  const digest = (_algorithm: unknown, data: BufferSource): Promise<ArrayBuffer> =>
    Promise.resolve(syncDigest(data));
  Object.defineProperty(subtle, "digest", { value: digest, configurable: true });
  try {
    return await work();
  } finally {
    if (before === undefined) Reflect.deleteProperty(subtle, "digest");
    else Object.defineProperty(subtle, "digest", before);
  }
}

/** 256 bits of FNV-1a from eight seeds. Nobody attacks a simulation. */
function syncDigest(data: BufferSource): ArrayBuffer {
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  const words = Uint32Array.from({ length: 8 }, (_, index) => 0x811c9dc5 ^ (index * 0x9e3779b1));
  for (const byte of bytes)
    for (const [index, word] of words.entries()) words[index] = Math.imul(word ^ byte, 0x01000193);
  return words.buffer;
}
