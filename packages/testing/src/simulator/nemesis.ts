import { type SeededRandom, createActor } from "./scheduler.ts";
import type { SimWorld } from "./world.ts";

/** Injects faults until they are stopped. */
export async function runNemesis(world: SimWorld): Promise<void> {
  const { scheduler, profile } = world;
  const { chance } = scheduler;
  const actor = createActor("nemesis");
  if (profile.nemesisMs === Infinity) return;
  for (;;) {
    await scheduler.sleep(chance.between(0, profile.nemesisMs * 2), actor, "looks around");
    if (!world.faultsEnabled) return;
    const host = world.aHost();
    const act = chance.weighted(profile.nemesis);
    scheduler.note(actor, `${act} ${host?.name ?? ""}`);
    switch (act) {
      case "crash":
        if (host !== null) crashAndRestart(world, world.hosts.indexOf(host));
        break;
      case "pause":
        if (host !== null) host.pausedUntil = scheduler.now + drawPause(chance, profile.leaseMs);
        break;
      case "outage": {
        const code = chance.pick([
          "store_busy",
          "store_full",
          "store_unavailable",
          "store_unknown",
        ] as const);
        const where = chance.happens(0.5) ? host : null;
        world.breakStore(chance.between(1, profile.leaseMs * 2), code, where);
        break;
      }
      case "clock":
        world.jumpClock(chance.between(-profile.leaseMs * 2, profile.leaseMs * 2));
        break;
      case "poke":
        host?.runner.notify(world.owner, chance.pick(world.sessions));
        break;
    }
  }
}

/** A moment, or long enough that others have taken the lease by then. */
function drawPause(chance: SeededRandom, leaseMs: number): number {
  return chance.happens(0.4) ? chance.between(1, leaseMs) : chance.between(leaseMs, leaseMs * 4);
}

function crashAndRestart(world: SimWorld, slot: number): void {
  const { scheduler, profile } = world;
  const host = world.hosts[slot];
  if (host === null || host === undefined) return;
  world.crash(host);
  const downMs = scheduler.chance.between(0, profile.leaseMs * 2);
  scheduler.after(downMs, createActor("nemesis"), `restarts host ${slot}`, () => {
    if (world.hosts[slot] === null) world.start(slot);
  });
}
