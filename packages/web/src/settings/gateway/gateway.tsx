import type { GatewayView } from "@holdfast/protocol";
import type { Result } from "@holdfast/client";
import { problemText, useApp } from "../../app-context.ts";
import { type FormEvent, useState } from "react";
import { formatMoment } from "../../ui/format-time.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { LaneList, OutboxList } from "./traffic.tsx";
import { platformName } from "./lane-name.ts";
import { FactList, SettingsGroup, useInterval, useHostQuery } from "../settings-group.tsx";
import { Webhooks } from "./webhooks.tsx";

/** Waits for a request, shows its outcome, and refreshes the view. */
export type RunRequest = <T>(
  request: Promise<Result<T>>,
  message: string | ((value: T) => string),
) => void;

/** The chat bot: its state, who may write to it, and what is not delivered yet. */
export function GatewaySettings() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.readGateway());
  useInterval(3_000, refetch);
  async function settle<T>(
    request: Promise<Result<T>>,
    message: string | ((value: T) => string),
  ): Promise<void> {
    const result = await request;
    const messageFor = typeof message === "string" ? () => message : message;
    toasts.show(result.ok ? messageFor(result.value) : problemText(result.error));
    refetch();
  }
  const runRequest: RunRequest = (request, message) => void settle(request, message);
  return (
    <>
      <SettingsGroup title={strings.gateway.title} query={query}>
        {(view) => <BotStatus view={view} runRequest={runRequest} />}
      </SettingsGroup>
      {query.kind === "loaded" && <Webhooks view={query.value} onChange={refetch} />}
      {query.kind === "loaded" && isBot(query.value) && (
        <>
          <PairingRequests view={query.value} runRequest={runRequest} />
          <PairedPeople view={query.value} runRequest={runRequest} />
        </>
      )}
      {query.kind === "loaded" && query.value.state !== "off" && (
        <>
          <OutboxList view={query.value} runRequest={runRequest} />
          <LaneList view={query.value} />
        </>
      )}
    </>
  );
}

interface GatewayViewProps {
  readonly view: GatewayView;
  readonly runRequest: RunRequest;
}

/** Webhooks alone are no bot: they have a section of their own. */
function isBot({ state, platform }: GatewayView): boolean {
  return state !== "off" && platform !== "webhook";
}

function BotStatus({ view, runRequest }: GatewayViewProps) {
  const { client } = useApp();
  const { platform, trouble, connectedBy } = view;
  const [state, bot] = isBot(view) ? [view.state, view.bot] : (["off", null] as const);
  const t = strings.gateway;
  return (
    <>
      <FactList
        facts={[
          [strings.settings.status, t.state[state]],
          ...(bot === null
            ? []
            : [
                [
                  platform === null ? t.anyPlatform : revealInvisible(platformName(platform)),
                  revealInvisible(`${bot.name} (${bot.id})`),
                ] as const,
              ]),
        ]}
      />
      {trouble !== null && (
        <p className="trouble">{`${revealInvisible(trouble.message)} (${trouble.code})`}</p>
      )}
      {state === "off" && <ConnectBot runRequest={runRequest} />}
      {connectedBy === "configuration" && <p className="quiet">{t.fromConfiguration}</p>}
      {connectedBy === "page" && (
        <button
          type="button"
          className="button"
          onClick={() => runRequest(client.disconnectBot(), t.disconnected)}
        >
          {t.disconnect}
        </button>
      )}
    </>
  );
}

function ConnectBot({ runRequest }: Pick<GatewayViewProps, "runRequest">) {
  const { client } = useApp();
  const [token, setToken] = useState("");
  const t = strings.gateway;
  const [first, second, third] = t.steps;
  function connect(event: FormEvent): void {
    event.preventDefault();
    if (token === "") return;
    const connected = client.connectBot({ body: { token } });
    runRequest(connected, (value) => t.connected(revealInvisible(value.bot.name)));
    setToken("");
  }
  return (
    <section className="callout info steps">
      <h4>{t.connect}</h4>
      <ol>
        <li>{first}</li>
        <li>
          {second}
          <form className="row" onSubmit={connect}>
            <input
              className="input"
              type="password"
              autoComplete="off"
              spellCheck={false}
              aria-label={t.token}
              placeholder={t.tokenHint}
              value={token}
              onChange={(event) => setToken(event.target.value.trim())}
            />
            <button type="submit" className="button primary" disabled={token === ""}>
              {t.connectBot}
            </button>
          </form>
        </li>
        <li>{third}</li>
      </ol>
    </section>
  );
}

function PairingRequests({ view: { requests }, runRequest }: GatewayViewProps) {
  const { client } = useApp();
  const t = strings.gateway;
  return (
    <section className="settings-section">
      <h3>{t.requests}</h3>
      <p className="quiet">{requests.length === 0 ? t.noRequests : t.requestsHint}</p>
      <ul className="facts-list">
        {requests.map(({ person, name: rawName, code, askedAt }) => {
          const name = revealInvisible(rawName);
          const params = { code };
          return (
            <li key={person}>
              <span className="fact-text">
                <strong>{name}</strong>
                <span className="quiet">{t.asked(code, formatMoment(askedAt))}</span>
              </span>
              <span className="row">
                <button
                  type="button"
                  className="button primary"
                  aria-label={t.allowNamed(name)}
                  onClick={() =>
                    runRequest(
                      client.decidePairing({ params, body: { decision: "allow" } }),
                      t.allowed(name),
                    )
                  }
                >
                  {t.allow}
                </button>
                <button
                  type="button"
                  className="button"
                  aria-label={t.denyNamed(name)}
                  onClick={() =>
                    runRequest(
                      client.decidePairing({ params, body: { decision: "deny" } }),
                      t.denied(name),
                    )
                  }
                >
                  {t.deny}
                </button>
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function PairedPeople({ view: { people }, runRequest }: GatewayViewProps) {
  const { client } = useApp();
  const t = strings.gateway;
  if (people.length === 0) return null;
  return (
    <section className="settings-section">
      <h3>{t.people}</h3>
      <ul className="facts-list">
        {people.map(({ person, name: rawName, state, at }) => {
          const name = revealInvisible(rawName);
          const isAllowed = state === "allowed";
          const decision = isAllowed ? "deny" : "allow";
          const change = () =>
            runRequest(
              client.changePerson({ params: { person }, body: { decision } }),
              isAllowed ? t.denied(name) : t.allowed(name),
            );
          return (
            <li key={person}>
              <span className="fact-text">
                <strong>{name}</strong>
                <span className="quiet">{t.since(t.access[state], formatMoment(at))}</span>
              </span>
              <button
                type="button"
                className="button"
                aria-label={isAllowed ? t.denyNamed(name) : t.allowNamed(name)}
                onClick={change}
              >
                {isAllowed ? t.deny : t.allow}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
