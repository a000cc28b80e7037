import { setTimeout as rest } from "node:timers/promises";

import type { History } from "../processes/history.ts";
import type { KnownSessions } from "../processes/known-sessions.ts";
import type { Cluster } from "./cluster.ts";
import type { Machine } from "./machine.ts";
import { describeFault, type Fault } from "./schedule.ts";

export interface NodesNemesisDeps {
  readonly machines: readonly Machine[];
  readonly cluster: Cluster;
  readonly history: History;
  readonly knownSessions: KnownSessions;
  readonly print: (line: string) => void;
}

/** What the faults have shown, in milliseconds. */
export interface NodesTimes {
  /** From the end of each fault until all hosts were ready. */
  readonly recoveries: number[];
  /** For a write to another host, while one was frozen in a transaction. */
  readonly writes: number[];
  /** How often a host was really frozen with an open transaction. */
  frozenInTransaction: number;
}

const recoveryTimeoutMs = 60_000;
const maxTries = 300;

/** Does to the machines and their database what the schedule says, one fault after another. */
export class NodesNemesis {
  readonly #deps: NodesNemesisDeps;
  readonly schedule: string[] = [];
  readonly times: NodesTimes = { recoveries: [], writes: [], frozenInTransaction: 0 };
  #probes = 0;
  #isTroubled = false;

  constructor(deps: NodesNemesisDeps) {
    this.#deps = deps;
  }

  get isTroubled(): boolean {
    return this.#isTroubled;
  }

  async inject(fault: Fault): Promise<void> {
    const { machines, cluster, history, print } = this.#deps;
    const described = describeFault(fault);
    this.schedule.push(described);
    print(described);
    history.note({ kind: "fault", what: "nodes", whom: described });
    const machine = machines[fault.machine]!;
    this.#trouble(true);
    switch (fault.kind) {
      case "kill":
        await machine.member.kill();
        await rest(fault.ms);
        machine.member.start();
        break;
      case "freeze in a transaction":
        await this.#freeze(machine, fault.ms);
        break;
      case "cut from the database":
      case "cut off": {
        const what = fault.kind === "cut off" ? "everything" : "database";
        machine.cut(what, "silent");
        await rest(fault.ms);
        machine.cut(what, "pass");
        break;
      }
      case "database restart":
        await cluster.restart();
        break;
      case "fail over":
        await cluster.failOver();
        break;
      case "kill during a fail over":
        await Promise.all([machine.member.kill(), cluster.failOver()]);
        machine.member.start();
    }
    history.note({ kind: "fault", what: "healed", whom: described });
    await this.#recover();
    this.#trouble(false);
    if (fault.kind.endsWith("fail over")) await cluster.addReplica("synchronous");
    await rest(fault.calmMs);
  }

  #trouble(isTroubled: boolean): void {
    this.#isTroubled = isTroubled;
    for (const { member } of this.#deps.machines) member.trouble();
  }

  async #recover(): Promise<void> {
    const { machines, history, print } = this.#deps;
    const since = performance.now();
    const healthy = async () => Promise.all(machines.map((machine) => machine.isHealthy()));
    while (!(await healthy()).every(Boolean)) {
      if (performance.now() - since > recoveryTimeoutMs)
        return history.note({
          kind: "wrong",
          what: `not every host is ready ${recoveryTimeoutMs} ms after ${this.schedule.at(-1)}`,
        });
      await rest(20);
    }
    const took = performance.now() - since;
    this.times.recoveries.push(took);
    print(`  all hosts were ready after ${took.toFixed(0)} ms`);
  }

  /** SIGSTOP at a moment at which the host has begun a transaction and not ended it. */
  async #freeze(machine: Machine, ms: number): Promise<void> {
    const { cluster } = this.#deps;
    const isInTransaction = async (): Promise<boolean> => {
      // What is on its way to the database arrives, and ends a transaction whose end was sent.
      await rest(5);
      const open = await cluster.query(
        `SELECT 1 FROM pg_stat_activity WHERE client_port = ANY($1::int[])
            AND application_name = 'holdfast writer' AND state = 'idle in transaction'`,
        [machine.databasePorts()],
      );
      return open.length > 0;
    };
    for (let tries = 0; tries < maxTries; tries += 1) {
      const frozen = await machine.member.stop(ms, isInTransaction, () => this.#probe(machine));
      if (!frozen) {
        await rest(7);
        continue;
      }
      this.times.frozenInTransaction += 1;
      return;
    }
    await machine.member.stop(ms);
  }

  /** Writes to each session through another host: one of them is locked by the frozen host. */
  async #probe(frozen: Machine): Promise<void> {
    const { machines, knownSessions, history, print } = this.#deps;
    const others = machines.filter((machine) => machine !== frozen);
    await Promise.all(
      knownSessions.active
        .filter(({ isTrashed }) => !isTrashed)
        .map(async ({ id }, n) => {
          const number = history.nextNumber();
          const clientId = `probe-${(this.#probes += 1)}`;
          const door = others[n % others.length]!;
          const request = {
            act: "send",
            session: id,
            clientId,
            text: `${clientId} {words:2}`,
            mode: "queue",
          } as const;
          history.note({ kind: "asked", number, by: "probe", door: door.name, request });
          const since = performance.now();
          const answer = await door.ask(number, request);
          const took = performance.now() - since;
          if (answer.kind === "done") this.times.writes.push(took);
          else print(`a probe was ${JSON.stringify(answer)} after ${took.toFixed(0)} ms`);
        }),
    );
  }
}
