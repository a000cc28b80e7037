import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { startHost } from "@holdfast/testing/process/start-process";
import { expect, test } from "vitest";

import {
  followUntil,
  makeFolder,
  readLog,
  serveWithClient,
  settingsFor,
  valueOf,
} from "./served-host.ts";
import {
  createSession,
  serveModel,
  shareStore,
  storeKinds,
  turn,
  whenOpen,
} from "./shared-store.ts";

const instructions = "Always knock on the door of the heron first.";
const long = (text: string) => `${text} ${"word ".repeat(4_500)}`.trim();
const timesIn = (text: string, part: string) => text.split(part).length - 1;

function writeSkill(home: string): void {
  const folder = join(home, "skills/heron-watch");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "SKILL.md"),
    `---\nname: heron-watch\ndescription: How herons are counted.\n---\n${instructions}\n\nThe places are in places.md.\n`,
  );
  writeFileSync(join(folder, "places.md"), "North pier.");
}

test.each(storeKinds)(
  "%s: a skill that the model activated survives kill -9 and a compaction, once and without old arguments",
  async (kind) => {
    const { promise: never } = Promise.withResolvers<void>();
    const call = (id: string, input: object) => ({
      frames: chatFrames([{ call: "activate_skill", id, input: JSON.stringify(input) }]),
    });
    const model = await serveModel(({ purpose }, before) => {
      if (purpose !== "conversation") return undefined;
      if (before === 1) return call("one", { name: "heron-watch" });
      if (before === 2) return call("two", { name: "heron-watch", file: "places.md" });
      // Its host is killed while the model thinks.
      if (before === 3) return { frames: whenOpen(never, "Lost.") };
      return undefined;
    });
    const home = join(makeFolder(), "home");
    writeSkill(home);
    const settings = {
      ...(await shareStore(kind)),
      ...model.settings,
      HOLDFAST_HOME: home,
      HOLDFAST_MODEL: "openai-compatible/narrow",
      HOLDFAST_MODELS: JSON.stringify({ "openai-compatible/narrow": { window: 30_000 } }),
      HOLDFAST_LEASE_MS: "2000",
    };
    const first = await serveWithClient(settings);
    const id = await createSession(first.client);
    // The first turn stays outside of every summary.
    await turn(first.client, id, "Good morning.");
    const body = { clientId: "count", text: "Count the herons at dawn." };
    valueOf(await first.client.sendMessage({ params: { id }, body }));
    await expect.poll(() => model.callsFor("conversation").length).toBe(4);
    const [, begin, active, read] = model.callsFor("conversation");
    expect(begin?.text).toContain("- heron-watch: How herons are counted.");
    expect(begin?.text).not.toContain(instructions);
    expect(timesIn(active?.text ?? "", instructions)).toBe(1);
    expect(read?.text).toContain("North pier.");
    await first.host.kill();

    const second = await serveWithClient(settings);
    const { run } = await followUntil(second.client, id, (state) => state.run?.endedAt != null);
    expect(run?.state).toBe("completed");
    const resumed = model.callsFor("conversation")[4];
    expect(timesIn(resumed?.text ?? "", instructions)).toBe(1);

    await turn(second.client, id, "/heron-watch at the secret southern pier");
    for (const text of ["one", "two", "three", "four", "five"])
      await turn(second.client, id, long(text));
    const { session } = valueOf(await second.client.readSession({ params: { id } }));
    expect(session.epoch).toBeGreaterThan(0);
    const last = model.callsFor("conversation").at(-1)?.text ?? "";
    expect(timesIn(last, instructions)).toBe(1);
    expect(last).not.toContain("secret southern pier");

    const log = await readLog(second.client, id, session.head);
    const activations = log.filter(({ data }) => JSON.stringify(data).includes('"skill":{'));
    expect(activations.map(({ type }) => type)).toEqual(["tool.ended", "message.tool"]);
    expect(JSON.stringify(activations[1]?.data)).toMatch(
      /"skill":\{"name":"heron-watch","source":"home","hash":"[0-9a-f]{64}"\}/u,
    );
    await second.host.kill();
    const fsck = startHost(["fsck"], { env: settingsFor(settings) });
    expect(await fsck.exited).toMatchObject({ code: 0 });
  },
  120_000,
);
