import type { McpServerView } from "@holdfast/protocol";
import { sentenceOf, useApp } from "../app-context.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { plainOutput, revealUnseen } from "../ui/markdown/safe-text.ts";
import { words } from "../strings/strings.ts";
import { Part } from "./part.tsx";
import { useEvery, useRead } from "./settings-group.tsx";

const example = `{
  "mcp": {
    "files": { "command": "mcp-server-filesystem", "args": ["/srv/papers"] }
  }
}`;

/** The operator's servers as they are at this moment. */
export function McpServers() {
  const { client, toasts } = useApp();
  const [read, again, learn] = useRead(() => client.listMcpServers());
  const isStarting =
    read.kind === "read" && read.value.servers.some(({ state }) => state === "starting");
  useEvery(isStarting ? 500 : 3_000, again);
  const w = words.mcp;
  async function restart(name: string): Promise<void> {
    const result = await client.restartMcpServer({ params: { name } });
    if (!result.ok) return toasts.tell(sentenceOf(result.error));
    // Its tools are gone until it is ready again, and the page says so at once.
    const { server } = result.value;
    learn(({ servers }) => ({
      servers: servers.map((each) => (each.name === name ? server : each)),
    }));
    toasts.tell(w.restarting(name));
  }
  return (
    <Part title={w.title} hint={w.hint} read={read}>
      {({ servers }) =>
        servers.length === 0 ? (
          <>
            <p>{w.none}</p>
            <figure className="sample">
              <figcaption>
                {w.example}
                <CopyButton text={example} label={words.code.copy} />
              </figcaption>
              <pre dir="ltr">{example}</pre>
            </figure>
          </>
        ) : (
          <ul className="providers">
            {servers.map((server) => (
              <Server
                key={server.name}
                server={server}
                onRestart={() => void restart(server.name)}
              />
            ))}
          </ul>
        )
      }
    </Part>
  );
}

interface ServerProps {
  readonly server: McpServerView;
  readonly onRestart: () => void;
}

function Server({ server, onRestart }: ServerProps) {
  const { name, kind, state, tools, leftOut, lastError, said } = server;
  const w = words.mcp;
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
          {w.lastError(revealUnseen(lastError))}
        </p>
      )}
      {tools.length > 0 && (
        <Fold label={w.tools(tools.length)} lines={tools.map((tool) => revealUnseen(tool.name))} />
      )}
      {leftOut.length > 0 && <Fold label={w.leftOut} lines={leftOut.map(revealUnseen)} />}
      {said.length > 0 && (
        <Fold label={w.said} lines={said.map((line) => revealUnseen(plainOutput(line)))} />
      )}
    </li>
  );
}

function Fold({ label, lines }: { label: string; lines: readonly string[] }) {
  return (
    <details className="fold">
      <summary>{label}</summary>
      <pre className="lines" dir="ltr">
        {lines.join("\n")}
      </pre>
    </details>
  );
}
