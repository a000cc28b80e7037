import {
  type Client,
  describeError,
  matchPersona,
  matchProject,
  type Result,
} from "@holdfast/client";
import { type Arguments, exit, textFlag } from "./command.ts";
import { cleanLine } from "./screen/text.ts";
import { personasStrings, projectsStrings } from "./strings/agent.ts";
import { programStrings } from "./strings/program.ts";

export const personaAndProjectFlags = {
  persona: { type: "string", value: "name", about: programStrings.flags.persona },
  project: {
    type: "string",
    value: "name",
    about: programStrings.flags.project,
  },
} as const;

type MakeRequest = <T>(request: () => Promise<Result<T>>) => Promise<Result<T>>;

export type ChosenPersonaAndProject =
  | {
      readonly ok: true;
      readonly settings: { readonly persona?: string; readonly project?: string };
      /** Whether the project has a folder that its sessions work in. */
      readonly hasFolder: boolean;
    }
  | { readonly ok: false; readonly message: string; readonly exitCode: number };

/** What `--persona` and `--project` name. A name that nothing has is an error. */
export async function choosePersonaAndProject(
  given: Arguments,
  client: Client,
  makeRequest: MakeRequest = (request) => request(),
): Promise<ChosenPersonaAndProject> {
  const [personaName, projectName] = [textFlag(given, "persona"), textFlag(given, "project")];
  let settings: { readonly persona?: string; readonly project?: string } = {};
  let hasFolder = false;
  if (personaName !== undefined) {
    const listed = await makeRequest(() => client.listPersonas());
    if (!listed.ok) return refused(describeError(listed.error), exit.failed);
    const found = personaName === "" ? undefined : matchPersona(listed.value.personas, personaName);
    if (found === undefined) return refused(personasStrings.unknown(personaName));
    settings = { persona: found.id };
  }
  if (projectName !== undefined) {
    const listed = await makeRequest(() => client.listProjects());
    if (!listed.ok) return refused(describeError(listed.error), exit.failed);
    const found = projectName === "" ? undefined : matchProject(listed.value.projects, projectName);
    if (found === undefined) return refused(projectsStrings.unknown(projectName));
    settings = { ...settings, project: found.name };
    hasFolder = found.workspace !== null;
  }
  return { ok: true, settings, hasFolder };
}

function refused(message: string, exitCode: number = exit.misuse): ChosenPersonaAndProject {
  return { ok: false, message: cleanLine(message), exitCode };
}
