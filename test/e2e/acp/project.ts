import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { SessionId } from "@holdfast/protocol";
import { makeFolder, serveWithClient, valueOf } from "../served-host.ts";

/** A host, and a project's folder that the owner has allowed. `settings` lead a bridge to it. */
export async function serveProject(settings: Record<string, string> = {}) {
  const served = await serveWithClient(settings);
  const project = makeProject();
  valueOf(await served.client.allowFolder({ body: { path: project } }));
  return { ...served, project, settings: { HOLDFAST_HOME: served.home, ...settings } };
}

export function makeProject(): string {
  const project = join(realpathSync(makeFolder()), "tides");
  mkdirSync(project);
  return project;
}

/** The SDK's ids are any text. */
export const asId = (id: string): SessionId => id as SessionId;
