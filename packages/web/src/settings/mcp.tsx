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

/** The current state of the operator's MCP servers. */
export function McpSettings() {
  const { client, toasts } = useApp();
  const [query, refetch, update] = useHostQuery(() => client.listMcpServers());
  const isStarting =
    query.kind === "loaded" && query.value.servers.some(({ state }) => state === "starting");
  useInterval(isStarting ? 500 : 3_000, refetch);
  const t = strings.mcp;
  async function restart(name: string): Promise<void> {
    const result = await client.restartMcpServer({ params: { name } });
    if (!result.ok) return toasts.show(problemText(result.error));
    // Shown at once, because its tools are gone until it is ready again.
    const { server } = result.value;
    update(({ servers }) => ({
      servers: servers.map((old) => (old.name === name ? server : old)),
    }));
    toasts.show(t.restarting(name));
  }
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ servers }) =>
        servers.length === 0 ? (
          <>
            <p>{t.none}</p>
            <figure className="sample">
              <figcaption>
                {t.example}
                <CopyButton text={example} label={strings.code.copy} />
              </figcaption>
              <pre dir="ltr">{example}</pre>
            </figure>
          </>
        ) : (
          <ul className="settings-cards">
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
  const { name, kind, state, tools, leftOut, lastError, said: lastOutput } = server;
  const t = strings.mcp;
  return (
    <li className="settings-card">
      <div className="row">
        <span className={state === "ready" ? "dot" : "dot off"} />
        <strong>{name}</strong>
        <span className="quiet">{`${t.state[state]}, ${t.kind[kind]}`}</span>
        <span className="spacer" />
        <button
          type="button"
          className="button"
          aria-label={t.restartNamed(name)}
          onClick={onRestart}
        >
          {t.restart}
        </button>
      </div>
      {lastError !== null && (
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
