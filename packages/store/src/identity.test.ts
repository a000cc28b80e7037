import { spawn } from "node:child_process";
import { once } from "node:events";

import type { Holder } from "@holdfast/engine";
import { describe, expect, test } from "vitest";

import {
  createLiveness,
  currentHolder,
  type SystemFacts,
  factsOf,
  thisSystem,
} from "./identity.ts";

function holderOf(pid: number): Holder {
  return { ...factsOf(pid), thread: 0, agent: "test", nonce: "n" };
}

describe("liveness of a holder", () => {
  test("this process is alive, and no two of its holders are the same", () => {
    const holder = currentHolder("test");
    expect(createLiveness().isDead(holder)).toBe("alive");
    expect(currentHolder("test").nonce).not.toBe(holder.nonce);
  });

  test("a killed process is dead even before its parent has noticed", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: "ignore",
    });
    await once(child, "spawn");
    const holder = holderOf(child.pid!);
    const liveness = createLiveness();
    expect(liveness.isDead(holder)).toBe("alive");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(liveness.isDead(holder)).toBe("dead");
  });

  test.each<[string, Partial<Holder>, "dead" | "unknown"]>([
    ["on another host", { host: "elsewhere" }, "unknown"],
    ["of another boot", { boot: "another" }, "unknown"],
    ["in another container", { pidNamespace: "another" }, "unknown"],
    ["whose boot is not known", { boot: null }, "unknown"],
    ["whose namespace is not known", { pidNamespace: null }, "unknown"],
    ["whose start is not known", { processStart: null }, "unknown"],
    ["whose pid was given to another process", { processStart: "1" }, "dead"],
  ])("one %s is judged by proof", (_name, changes, verdict) => {
    expect(createLiveness().isDead({ ...currentHolder("test"), ...changes })).toBe(verdict);
  });

  test("a pid whose start time can't be read proves nothing", () => {
    const system: SystemFacts = { ...thisSystem, startOf: () => null };
    expect(createLiveness(system).isDead(currentHolder("test"))).toBe("unknown");
  });
});
