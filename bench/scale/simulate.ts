// Claims, renewals and wake-ups of many hosts on one store, counted: `npm run simulate`. No database is involved. The
// rules are those of `runner.ts`, `lease-renewer.ts` and `hints.ts`; docs/scale.md has the figures and what they mean.

interface Load {
  readonly hosts: number;
  readonly runs: number;
  readonly leaseMs: number;
  /** How long a run lasts, on average; then another session gets a message. */
  readonly runMs: number;
  /** From a commit until other hosts hear of it, at most. */
  readonly signalMs: number;
  /** The share of messages that is accepted by a process without a runner, so that others are told. */
  readonly toldShare: number;
  readonly seconds: number;
}

const usual: Load = {
  hosts: 1_000,
  runs: 100_000,
  leaseMs: 30_000,
  runMs: 60_000,
  signalMs: 20,
  toldShare: 1,
  seconds: 30,
};

/** How long the acquisition of a lease takes: whoever hears of the work before it is over tries, too. */
const acquireMs = 5;
/** What one read of live or queued work returns at most. */
const pageSize = 1_000;

/** Mulberry32: one seed is one result. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function simulate(load: Load, seed: number) {
  const { hosts, runs, leaseMs, runMs, signalMs, toldShare, seconds } = load;
  const random = createRandom(seed);
  const held = Array.from({ length: hosts }, () => 0);
  for (let run = 0; run < runs; run += 1) held[Math.floor(random() * hosts)]! += 1;
  let [messages, attempts, overlapping, signals, deliveries] = [0, 0, 0, 0, 0];
  const meanGapMs = runMs / runs;
  for (let at = 0; at < seconds * 1_000; at += -Math.log(1 - random()) * meanGapMs) {
    messages += 1;
    if (random() >= toldShare) {
      attempts += 1;
      continue;
    }
    signals += 1;
    // Every host listens to the one channel, and each runner that hears of a message asks for its lease.
    deliveries += hosts;
    attempts += hosts;
    const heardAt = Array.from({ length: hosts }, () => random() * signalMs);
    const first = heardAt.reduce((least, each) => Math.min(least, each));
    overlapping += heardAt.filter((each) => each > first && each < first + acquireMs).length;
  }
  const busyHosts = held.filter((count) => count > 0).length;
  return {
    "messages/s": messages / seconds,
    "renewal statements/s": busyHosts / (leaseMs / 3_000),
    "renewed rows/s": runs / (leaseMs / 3_000),
    "rows of the largest renewal": held.reduce((most, each) => Math.max(most, each)),
    "sweep statements/s": (hosts * 2) / (leaseMs / 6_000),
    "rows read by sweeps/s": (hosts * Math.min(runs, pageSize)) / (leaseMs / 6_000),
    // Sorted by when their leases expire, so that abandoned ones are in the first page.
    "rows sorted by sweeps/s": (hosts * runs) / (leaseMs / 6_000),
    "signals/s": signals / seconds,
    "signals delivered/s": deliveries / seconds,
    "lease attempts/s": attempts / seconds,
    "attempts that overlap the first, per message": signals === 0 ? 0 : overlapping / signals,
  };
}

if (import.meta.main) {
  const seed = Number(process.argv[2] ?? 7);
  const cases: readonly [string, Load][] = [
    ["3 hosts, 300 runs", { ...usual, hosts: 3, runs: 300 }],
    ["30 hosts, 3,000 runs", { ...usual, hosts: 30, runs: 3_000 }],
    ["1,000 hosts, 100,000 runs", usual],
    ["the same, accepted where they run", { ...usual, toldShare: 0 }],
  ];
  console.log(`seed ${seed}`);
  for (const [name, load] of cases) {
    console.log(`\n${name}`);
    for (const [what, value] of Object.entries(simulate(load, seed)))
      console.log(
        `  ${what.padEnd(46)} ${value.toLocaleString("en", { maximumFractionDigits: 2 })}`,
      );
  }
}
