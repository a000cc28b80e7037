import type { ProcessId, RouteOutput, Routes } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { ToolOutput } from "./tool-details.tsx";

type Output = RouteOutput<Routes["readProcessOutput"]>;

const pollMs = 1_000;

interface ProcessOutputProps {
  readonly id: ProcessId;
  /** Whether it is shown before anybody asks for it. */
  readonly isOpen: boolean;
}

/** What a background command has written, followed while it runs. */
export function ProcessOutput({ id, isOpen: initiallyOpen }: ProcessOutputProps) {
  const [isOpen, setIsOpen] = useState(initiallyOpen);
  const read = useProcessOutput(id, isOpen);
  const t = strings.process;
  return (
    <details
      className="process-output"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary className="quiet">
        {t.output}
        {isOpen && read !== null && ` · ${read.process.end ?? t.running}`}
      </summary>
      {isOpen && read !== null && (
        <ToolOutput
          text={read.output ?? t.elsewhere(read.process.host)}
          isGrowing={read.process.end === null}
        />
      )}
    </details>
  );
}

/** Reads again each second until the command has ended; not in a hidden tab. */
function useProcessOutput(id: ProcessId, isOpen: boolean): Output | null {
  const { client } = useApp();
  const [read, setRead] = useState<Output | null>(null);
  const hasEnded = read !== null && read.process.end !== null;
  useEffect(() => {
    if (!isOpen || hasEnded) return;
    const leaving = new AbortController();
    async function update(): Promise<void> {
      if (document.visibilityState === "hidden") return;
      const result = await client.readProcessOutput({ params: { id } }, { signal: leaving.signal });
      if (result.ok && !leaving.signal.aborted) setRead(result.value);
    }
    void update();
    const timer = setInterval(() => void update(), pollMs);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [client, id, isOpen, hasEnded]);
  return read;
}
