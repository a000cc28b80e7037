import { type MessageEntry, processId, type ProcessId } from "@holdfast/protocol";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { ProcessOutput } from "./process-output.tsx";

/** What sent a message that no person wrote. */
export type HostSource = "process" | "schedule" | "task";

const prefixes = { "process:": "process", "schedule:": "schedule", call_: "task" } as const;

/** Such messages have client ids of their own; `null` for a message of a person. */
export function hostSourceOf({ role, clientId = "" }: MessageEntry): HostSource | null {
  if (role !== "user") return null;
  const found = Object.entries(prefixes).find(([prefix]) => clientId.startsWith(prefix));
  return found?.[1] ?? null;
}

const icons: Readonly<Record<HostSource, IconName>> = {
  process: "terminal",
  schedule: "clock",
  task: "link",
};

const withHeading = /^\[([^\]\n]+)\]\n\n([\s\S]*)$/;
/** The end of a process is followed by sentences that are meant for the model. */
const forTheModel = " Its output can be read with";

interface HostMessageProps {
  readonly entry: MessageEntry;
  readonly source: HostSource;
  readonly text: string;
}

/** The text of a message that the host sent: the end of a background command, a scheduled prompt, a delegated task. */
export function HostMessage({ entry, source, text }: HostMessageProps) {
  const [, heading = "", body = text] = withHeading.exec(text) ?? [];
  const process = source === "process" ? processOf(entry) : null;
  return (
    <>
      <p className="host-label">
        <Icon name={icons[source]} />
        <span>{strings.talk.source[source]}</span>
        {source === "schedule" && <span className="quiet">{heading}</span>}
      </p>
      <p className="as-written" dir="auto">
        {source === "process" ? body.split(forTheModel, 1)[0] : body}
      </p>
      {process !== null && <ProcessOutput id={process} isOpen={false} />}
    </>
  );
}

function processOf({ clientId = "" }: MessageEntry): ProcessId | null {
  return processId.safeParse(clientId.slice("process:".length)).data ?? null;
}
