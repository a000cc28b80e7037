import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Client } from "@holdfast/client";
import { beforeEach, expect, test } from "vitest";

import { openEditor } from "./acp/editor.ts";
import { asId, serveProject } from "./acp/project.ts";
import { requirePage } from "./page/require-page.ts";
import { makeFolder, valueOf } from "./served-host.ts";
import { serveBot, showsText, startFakeBotApi, untilShown } from "./telegram-rig.ts";

beforeEach(requirePage);

function writeSkill(home: string): void {
  const folder = join(home, "skills/heron-watch");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "SKILL.md"),
    "---\nname: heron-watch\ndescription: How herons are counted.\n---\nKnock first.\n",
  );
}

/** The skills that the messages of the newest session have activated. */
async function activatedIn(client: Client): Promise<readonly string[]> {
  const [session] = valueOf(await client.listSessions({})).sessions;
  const { entries } = valueOf(await client.readSession({ params: { id: session!.id } }));
  return entries.flatMap((entry) =>
    entry.type !== "message" || entry.role !== "user"
      ? []
      : entry.parts.flatMap((part) =>
          part.type === "attached" && part.skill !== undefined ? [part.skill.name] : [],
        ),
  );
}

test("in a chat, /name activates a skill, and a name that is none is answered with the nearest command", async () => {
  const home = join(makeFolder(), "home");
  writeSkill(home);
  const platform = await startFakeBotApi();
  const { client } = await serveBot(platform, { HOLDFAST_HOME: home });
  platform.say(7, "/heron-watch at dawn {words:3}");
  await untilShown(platform, (messages) => messages.some(({ from }) => from === "bot"));
  await expect.poll(() => activatedIn(client)).toEqual(["heron-watch"]);
  platform.say(7, "/skill");
  await untilShown(platform, showsText("/heron-watch: How herons are counted."));
  platform.say(7, "/heron-wotch");
  await untilShown(platform, showsText("/heron-wotch"));
});

test("in an editor, /name activates a skill", async () => {
  const { project, settings, client, home } = await serveProject();
  writeSkill(home);
  const editor = await openEditor({ settings });
  const { sessionId } = await editor.newSession(project);
  await editor.prompt(sessionId, "/heron-watch at dawn {words:3}");
  expect(asId(sessionId)).toBe(valueOf(await client.listSessions({})).sessions[0]?.id);
  expect(await activatedIn(client)).toEqual(["heron-watch"]);
});
