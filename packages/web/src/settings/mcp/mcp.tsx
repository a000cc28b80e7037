import { problemText, useApp } from "../../app-context.ts";
import { SharedRereadHint } from "../../context/shared-reread-hint.tsx";
import { strings } from "../../strings/strings.ts";
import { SettingsGroup, useInterval, useHostQuery } from "../settings-group.tsx";
import { AddMcpServer } from "./add-server.tsx";
import { McpServerCard } from "./server-card.tsx";

/** The MCP servers of this host, and a form that adds one. */
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

  async function turn(name: string, to: "on" | "off"): Promise<void> {
    const result = await client.changeMcpServer({ params: { name }, body: { switch: to } });
    toasts.show(result.ok ? t.turned[to](name) : problemText(result.error));
    refetch();
  }

  async function remove(name: string): Promise<void> {
    const result = await client.removeMcpServer({ params: { name } });
    toasts.show(result.ok ? t.removed(name) : problemText(result.error));
    refetch();
  }

  return (
    <>
      <SettingsGroup title={t.title} hint={t.hint} query={query}>
        {({ servers }) => (
          <>
            <SharedRereadHint />
            {servers.length === 0 && <p>{t.none}</p>}
            {servers.length > 0 && (
              <ul className="settings-cards">
                {servers.map((server) => (
                  <McpServerCard
                    key={server.name}
                    server={server}
                    onRestart={() => void restart(server.name)}
                    onTurn={(to) => void turn(server.name, to)}
                    onRemove={() => void remove(server.name)}
                    onChanged={refetch}
                  />
                ))}
              </ul>
            )}
          </>
        )}
      </SettingsGroup>
      <AddMcpServer onAdded={refetch} />
    </>
  );
}
