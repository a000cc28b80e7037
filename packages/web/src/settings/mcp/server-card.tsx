import type { McpServerView } from "@holdfast/protocol";
import { useState } from "react";
import { Dialog } from "../../ui/dialog.tsx";
import { stripAnsi, revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { McpSignIn } from "./sign-in.tsx";

interface McpServerCardProps {
  readonly server: McpServerView;
  readonly onRestart: () => void;
  readonly onTurn: (to: "on" | "off") => void;
  readonly onRemove: () => void;
  readonly onChanged: () => void;
}

export function McpServerCard({
  server,
  onRestart,
  onTurn,
  onRemove,
  onChanged,
}: McpServerCardProps) {
  const { name, kind, state, tools, leftOut, lastError, said: lastOutput } = server;
  const [isRemoving, setRemoving] = useState(false);
  const t = strings.mcp;
  const isOn = server.switch === "on";
  return (
    <li className="settings-card">
      <div className="row">
        <span className={state === "ready" ? "dot" : "dot off"} />
        <strong>{name}</strong>
        <span className="quiet">{`${isOn ? t.state[state] : t.off}, ${t.kind[kind]}`}</span>
        <span className="spacer" />
        {isOn && (
          <button
            type="button"
            className="button"
            aria-label={t.restartNamed(name)}
            onClick={onRestart}
          >
            {t.restart}
          </button>
        )}
        {server.connectedBy === "page" && (
          <>
            <button
              type="button"
              className="button"
              aria-label={isOn ? t.turnOffNamed(name) : t.turnOnNamed(name)}
              onClick={() => onTurn(isOn ? "off" : "on")}
            >
              {isOn ? t.turnOff : t.turnOn}
            </button>
            <button
              type="button"
              className="button plain"
              aria-label={t.removeNamed(name)}
              onClick={() => setRemoving(true)}
            >
              {t.remove}
            </button>
          </>
        )}
      </div>
      {server.target !== "" && (
        <p className="quiet">
          <code dir="ltr">{revealInvisible(server.target)}</code>
          {server.connectedBy === "configuration" && ` ${t.fromConfiguration}`}
        </p>
      )}
      {server.hidesAdded && (
        <p className="trouble">
          {t.hidesAdded}{" "}
          <button type="button" className="button plain" onClick={() => setRemoving(true)}>
            {t.removeAdded}
          </button>
        </p>
      )}
      {isOn && server.signIn !== "none" && <McpSignIn server={server} onChanged={onChanged} />}
      {lastError !== null && isOn && server.signIn !== "needed" && (
        <p className={state === "ready" ? "quiet" : "trouble"}>
          {t.lastError(revealInvisible(lastError))}
        </p>
      )}
      {tools.length > 0 && (
        <FoldedLines
          label={t.tools(tools.length)}
          lines={tools.map((tool) => revealInvisible(tool.name))}
        />
      )}
      {leftOut.length > 0 && <FoldedLines label={t.leftOut} lines={leftOut.map(revealInvisible)} />}
      {lastOutput.length > 0 && (
        <FoldedLines
          label={t.lastOutput}
          lines={lastOutput.map((line) => revealInvisible(stripAnsi(line)))}
        />
      )}
      {isRemoving && (
        <Dialog
          title={t.removeAsk(name)}
          confirm={t.remove}
          tone="warn"
          onConfirm={onRemove}
          onClose={() => setRemoving(false)}
        >
          <p>{server.hidesAdded ? t.removeAddedLead : t.removeLead}</p>
        </Dialog>
      )}
    </li>
  );
}

function FoldedLines({ label, lines }: { label: string; lines: readonly string[] }) {
  return (
    <details className="fold">
      <summary>{label}</summary>
      <pre className="lines" dir="ltr">
        {lines.join("\n")}
      </pre>
    </details>
  );
}
