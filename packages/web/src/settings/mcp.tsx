import type { McpServerView } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { CopyButton } from "../ui/copy-and-save.tsx";
import { stripAnsi, revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { SettingsGroup, useInterval, useHostQuery } from "./settings-group.tsx";

const example = `{
  "mcp": {
    "files": { "command": "mcp-server-filesystem", "args": ["/srv/papers"] }
  }
}`;

/** The operator's servers as they are at this moment. */
export function McpSettings() {
  const { client, toasts } = useApp();
  const [read, again, learn] = useHostQuery(() => client.listMcpServers());
  const isStarting =
    read.kind === "read" && read.value.servers.some(({ state }) => state === "starting");
  useInterval(isStarting ? 500 : 3_000, again);
  const w = strings.mcp;
  async function restart(name: string): Promise<void> {
    const result = await client.restartMcpServer({ params: { name } });
    if (!result.ok) return toasts.show(problemText(result.error));
    // Its tools are gone until it is ready again, and the page says so at once.
    const { server } = result.value;
    learn(({ servers }) => ({
      servers: servers.map((each) => (each.name === name ? server : each)),
    }));
    toasts.show(w.restarting(name));
  }
  return (
    <SettingsGroup title={w.title} hint={w.hint} read={read}>
      {({ servers }) =>
        servers.length === 0 ? (
          <>
            <p>{w.none}</p>
            <figure className="sample">
              <figcaption>
                {w.example}
                <CopyButton text={example} label={strings.code.copy} />
              </figcaption>
              <pre dir="ltr">{example}</pre>
            </figure>
          </>
        ) : (
          <ul className="providers">
            {servers.map((server) => (
              <McpServerCard
                key={server.name}
                server={server}
                onRestart={() => void restart(server.name)}
              />
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}

interface McpServerCardProps {
  readonly server: McpServerView;
  readonly onRestart: () => void;
}

function McpServerCard({ server, onRestart }: McpServerCardProps) {
  const { name, kind, state, tools, leftOut, lastError, said } = server;
  const w = strings.mcp;
  return (
    <li className="provider">
      <div className="row">
        <span className={state === "ready" ? "dot" : "dot off"} />
        <strong>{name}</strong>
        <span className="quiet">{`${w.state[state]}, ${w.kind[kind]}`}</span>
        <span className="spread" />
        <button
          type="button"
          className="button"
          aria-label={w.restartNamed(name)}
          onClick={onRestart}
        >
          {w.restart}
        </button>
      </div>
      {lastError !== null && (
        <p className={state === "ready" ? "quiet" : "trouble"}>
          {w.lastError(revealInvisible(lastError))}
        </p>
      )}
      {tools.length > 0 && (
        <FoldedLines
          label={w.tools(tools.length)}
          lines={tools.map((tool) => revealInvisible(tool.name))}
        />
      )}
      {leftOut.length > 0 && <FoldedLines label={w.leftOut} lines={leftOut.map(revealInvisible)} />}
      {said.length > 0 && (
        <FoldedLines label={w.said} lines={said.map((line) => revealInvisible(stripAnsi(line)))} />
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
