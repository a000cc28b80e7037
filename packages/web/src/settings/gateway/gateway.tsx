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

/** Does what was asked for, says what became of it, and looks again. */
export type RunRequest = <T>(
  asked: Promise<Result<T>>,
  done: string | ((value: T) => string),
) => void;

/** The chat bot: how it stands, who may speak to it, and what it still owes. */
export function GatewaySettings() {
  const { client, toasts } = useApp();
  const [read, again] = useHostQuery(() => client.readGateway());
  useInterval(3_000, again);
  async function settle<T>(
    asked: Promise<Result<T>>,
    done: string | ((value: T) => string),
  ): Promise<void> {
    const result = await asked;
    const tell = typeof done === "string" ? () => done : done;
    toasts.show(result.ok ? tell(result.value) : problemText(result.error));
    again();
  }
  const ask: RunRequest = (asked, done) => void settle(asked, done);
  return (
    <>
      <SettingsGroup title={strings.gateway.title} read={read}>
        {(view) => <BotStatus view={view} ask={ask} />}
      </SettingsGroup>
      {read.kind === "read" && <Webhooks view={read.value} again={again} />}
      {read.kind === "read" && isBot(read.value) && (
        <>
          <PairingRequests view={read.value} ask={ask} />
          <PairedPeople view={read.value} ask={ask} />
        </>
      )}
      {read.kind === "read" && read.value.state !== "off" && (
        <>
          <OutboxList view={read.value} ask={ask} />
          <LaneList view={read.value} />
        </>
      )}
    </>
  );
}

interface GatewayViewProps {
  readonly view: GatewayView;
  readonly ask: RunRequest;
}

/** Programs alone make no bot: they are told of by themselves. */
function isBot({ state, platform }: GatewayView): boolean {
  return state !== "off" && platform !== "webhook";
}

function BotStatus({ view, ask }: GatewayViewProps) {
  const { client } = useApp();
  const { platform, trouble, connectedBy } = view;
  const [state, bot] = isBot(view) ? [view.state, view.bot] : (["off", null] as const);
  const w = strings.gateway;
  return (
    <>
      <FactList
        all={[
          [strings.settings.status, w.state[state]],
          ...(bot === null
            ? []
            : [
                [
                  platform === null ? w.anyPlatform : revealInvisible(platformName(platform)),
                  revealInvisible(`${bot.name} (${bot.id})`),
                ] as const,
              ]),
        ]}
      />
      {trouble !== null && (
        <p className="trouble">{`${revealInvisible(trouble.message)} (${trouble.code})`}</p>
      )}
      {state === "off" && <ConnectBot ask={ask} />}
      {connectedBy === "configuration" && <p className="quiet">{w.fromConfiguration}</p>}
      {connectedBy === "page" && (
        <button
          type="button"
          className="button"
          onClick={() => ask(client.disconnectBot(), w.disconnected)}
        >
          {w.disconnect}
        </button>
      )}
    </>
  );
}

function ConnectBot({ ask }: Pick<GatewayViewProps, "ask">) {
  const { client } = useApp();
  const [token, setToken] = useState("");
  const w = strings.gateway;
  const [first, second, third] = w.steps;
  function connect(event: FormEvent): void {
    event.preventDefault();
    if (token === "") return;
    const connected = client.connectBot({ body: { token } });
    ask(connected, (value) => w.connected(revealInvisible(value.bot.name)));
    setToken("");
  }
  return (
    <section className="callout calm steps">
      <h4>{w.connect}</h4>
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
              aria-label={w.token}
              placeholder={w.tokenHint}
              value={token}
              onChange={(event) => setToken(event.target.value.trim())}
            />
            <button type="submit" className="button primary" disabled={token === ""}>
              {w.connectBot}
            </button>
          </form>
        </li>
        <li>{third}</li>
      </ol>
    </section>
  );
}

function PairingRequests({ view: { requests }, ask }: GatewayViewProps) {
  const { client } = useApp();
  const w = strings.gateway;
  return (
    <section className="settings-part">
      <h3>{w.requests}</h3>
      <p className="quiet">{requests.length === 0 ? w.noRequests : w.requestsHint}</p>
      <ul className="facts-list">
        {requests.map(({ person, name: given, code, askedAt }) => {
          const name = revealInvisible(given);
          const params = { code };
          return (
            <li key={person}>
              <span className="fact-text">
                <strong>{name}</strong>
                <span className="quiet">{w.asked(code, formatMoment(askedAt))}</span>
              </span>
              <span className="row">
                <button
                  type="button"
                  className="button primary"
                  aria-label={w.allowNamed(name)}
                  onClick={() =>
                    ask(
                      client.decidePairing({ params, body: { decision: "allow" } }),
                      w.allowed(name),
                    )
                  }
                >
                  {w.allow}
                </button>
                <button
                  type="button"
                  className="button"
                  aria-label={w.denyNamed(name)}
                  onClick={() =>
                    ask(
                      client.decidePairing({ params, body: { decision: "deny" } }),
                      w.denied(name),
                    )
                  }
                >
                  {w.deny}
                </button>
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function PairedPeople({ view: { people }, ask }: GatewayViewProps) {
  const { client } = useApp();
  const w = strings.gateway;
  if (people.length === 0) return null;
  return (
    <section className="settings-part">
      <h3>{w.people}</h3>
      <ul className="facts-list">
        {people.map(({ person, name: given, state, at }) => {
          const name = revealInvisible(given);
          const isAllowed = state === "allowed";
          const decision = isAllowed ? "deny" : "allow";
          const change = () =>
            ask(
              client.changePerson({ params: { person }, body: { decision } }),
              isAllowed ? w.denied(name) : w.allowed(name),
            );
          return (
            <li key={person}>
              <span className="fact-text">
                <strong>{name}</strong>
                <span className="quiet">{w.since(w.mayGo[state], formatMoment(at))}</span>
              </span>
              <button
                type="button"
                className="button"
                aria-label={isAllowed ? w.denyNamed(name) : w.allowNamed(name)}
                onClick={change}
              >
                {isAllowed ? w.deny : w.allow}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
