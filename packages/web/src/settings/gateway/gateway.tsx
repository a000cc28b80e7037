import type { GatewayView } from "@holdfast/protocol";
import type { Result } from "@holdfast/client";
import { sentenceOf, useApp } from "../../app-context.ts";
import { type FormEvent, useState } from "react";
import { momentOf } from "../../ui/format-time.ts";
import { revealUnseen } from "../../ui/markdown/safe-text.ts";
import { words } from "../../strings/strings.ts";
import { Lanes, Outbox } from "./traffic.tsx";
import { platformName } from "./lane-name.ts";
import { Facts, Part } from "../part.tsx";
import { Programs } from "./webhooks.tsx";
import { useEvery, useRead } from "../settings-group.tsx";

/** Does what was asked for, says what became of it, and looks again. */
export type Ask = <T>(asked: Promise<Result<T>>, done: string | ((value: T) => string)) => void;

/** The chat bot: how it stands, who may speak to it, and what it still owes. */
export function Gateway() {
  const { client, toasts } = useApp();
  const [read, again] = useRead(() => client.readGateway());
  useEvery(3_000, again);
  async function settle<T>(
    asked: Promise<Result<T>>,
    done: string | ((value: T) => string),
  ): Promise<void> {
    const result = await asked;
    const tell = typeof done === "string" ? () => done : done;
    toasts.tell(result.ok ? tell(result.value) : sentenceOf(result.error));
    again();
  }
  const ask: Ask = (asked, done) => void settle(asked, done);
  return (
    <>
      <Part title={words.gateway.title} read={read}>
        {(view) => <Bot view={view} ask={ask} />}
      </Part>
      {read.kind === "read" && <Programs view={read.value} again={again} />}
      {read.kind === "read" && isBot(read.value) && (
        <>
          <Requests view={read.value} ask={ask} />
          <People view={read.value} ask={ask} />
        </>
      )}
      {read.kind === "read" && read.value.state !== "off" && (
        <>
          <Outbox view={read.value} ask={ask} />
          <Lanes view={read.value} />
        </>
      )}
    </>
  );
}

interface ViewProps {
  readonly view: GatewayView;
  readonly ask: Ask;
}

/** Programs alone make no bot: they are told of by themselves. */
function isBot({ state, platform }: GatewayView): boolean {
  return state !== "off" && platform !== "webhook";
}

function Bot({ view, ask }: ViewProps) {
  const { client } = useApp();
  const { platform, trouble, connectedBy } = view;
  const [state, bot] = isBot(view) ? [view.state, view.bot] : (["off", null] as const);
  const w = words.gateway;
  return (
    <>
      <Facts
        all={[
          [words.settings.status, w.state[state]],
          ...(bot === null
            ? []
            : [
                [
                  platform === null ? w.anyPlatform : revealUnseen(platformName(platform)),
                  revealUnseen(`${bot.name} (${bot.id})`),
                ] as const,
              ]),
        ]}
      />
      {trouble !== null && (
        <p className="trouble">{`${revealUnseen(trouble.message)} (${trouble.code})`}</p>
      )}
      {state === "off" && <HowToConnect ask={ask} />}
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

function HowToConnect({ ask }: Pick<ViewProps, "ask">) {
  const { client } = useApp();
  const [token, setToken] = useState("");
  const w = words.gateway;
  const [first, second, third] = w.steps;
  function connect(event: FormEvent): void {
    event.preventDefault();
    if (token === "") return;
    const connected = client.connectBot({ body: { token } });
    ask(connected, (value) => w.connected(revealUnseen(value.bot.name)));
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

function Requests({ view: { requests }, ask }: ViewProps) {
  const { client } = useApp();
  const w = words.gateway;
  return (
    <section className="settings-part">
      <h3>{w.requests}</h3>
      <p className="quiet">{requests.length === 0 ? w.noRequests : w.requestsHint}</p>
      <ul className="facts-list">
        {requests.map(({ person, name: given, code, askedAt }) => {
          const name = revealUnseen(given);
          const params = { code };
          return (
            <li key={person}>
              <span className="fact-text">
                <strong>{name}</strong>
                <span className="quiet">{w.asked(code, momentOf(askedAt))}</span>
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

function People({ view: { people }, ask }: ViewProps) {
  const { client } = useApp();
  const w = words.gateway;
  if (people.length === 0) return null;
  return (
    <section className="settings-part">
      <h3>{w.people}</h3>
      <ul className="facts-list">
        {people.map(({ person, name: given, state, at }) => {
          const name = revealUnseen(given);
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
                <span className="quiet">{w.since(w.mayGo[state], momentOf(at))}</span>
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
