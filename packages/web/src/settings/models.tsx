import type { ProviderView, RouteInput, Routes } from "@holdfast/protocol";
import { type FormEvent, useEffect, useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { isRehearsal } from "../models/models-store.ts";
import { strings } from "../strings/strings.ts";

type Provider = RouteInput<Routes["putSecret"]>["params"]["provider"];

const keyedProviders: readonly Provider[] = [
  "anthropic",
  "openai",
  "google",
  "openai-compatible",
  "ollama",
];

/** Who can answer, and the keys that it takes. A key goes to the host and is never read back. */
export function ModelSettings() {
  const { models } = useApp();
  const list = useStore(models);
  useEffect(() => void models.refresh(), [models]);
  if (list === null) return null;
  const w = strings.models;
  return (
    <>
      {isRehearsal(list.usual) && <p className="callout calm">{strings.welcome.rehearsal}</p>}
      <section className="settings-part">
        <h3>{w.keys}</h3>
        <p className="quiet">{w.keysHint}</p>
        <ul className="providers">
          {list.providers.map((provider) => (
            <ProviderRow key={provider.provider} provider={provider} />
          ))}
        </ul>
      </section>
      <section className="settings-part">
        <h3>{w.all}</h3>
        <p className="quiet">{w.pricesAsOf(list.tableDate)}</p>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <section className="table" aria-label={w.all} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>{strings.composer.model}</th>
                <th className="align-right">{w.windowTitle}</th>
                <th className="align-right">{w.inputPrice}</th>
                <th className="align-right">{w.outputPrice}</th>
                <th>{strings.settings.status}</th>
              </tr>
            </thead>
            <tbody>
              {list.models.map(({ name, window, price, usable }) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td className="align-right">{window.toLocaleString()}</td>
                  <td className="align-right">{price === null ? "–" : w.dollars(price.input)}</td>
                  <td className="align-right">{price === null ? "–" : w.dollars(price.output)}</td>
                  <td>{name === list.usual ? w.usual : usable ? w.usable : w.notUsable}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </section>
    </>
  );
}

/** What is wrong with a key that is there; where there is none, the field says it all but what else would do. */
function ProviderHint({ provider: { provider, key, problem } }: { provider: ProviderView }) {
  if (problem === undefined) return null;
  const others: Readonly<Record<string, string>> = strings.models.orSet;
  const hint = key.from === "none" ? (others[provider] ?? problem) : problem;
  return <p className="quiet">{hint}</p>;
}

function ProviderRow({ provider }: { provider: ProviderView }) {
  const { client, models, toasts } = useApp();
  const [key, setKey] = useState("");
  const [baseUrl, setBaseUrl] = useState(provider.baseUrl ?? "");
  const w = strings.models;
  const name = keyedProviders.find((each) => each === provider.provider);
  const takesAddress = name === "openai-compatible" || name === "ollama";

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (name === undefined || key === "") return;
    const address = baseUrl.trim();
    const body = { key, ...(takesAddress && address !== "" && { baseUrl: address }) };
    const result = await client.putSecret({ params: { provider: name }, body });
    if (result.ok) setKey("");
    toasts.show(result.ok ? w.saved : problemText(result.error));
    await models.refresh();
  }
  async function forget(): Promise<void> {
    if (name === undefined) return;
    const result = await client.deleteSecret({ params: { provider: name } });
    toasts.show(result.ok ? w.forgotten : problemText(result.error));
    await models.refresh();
  }

  return (
    <li className="provider">
      <div className="row">
        <span className={provider.usable ? "dot" : "dot off"} />
        <strong>{provider.title}</strong>
        <span className="quiet">{w.from[provider.key.from](provider.key.name ?? "")}</span>
      </div>
      <ProviderHint provider={provider} />
      {name !== undefined && (
        <form className="row" onSubmit={(event) => void save(event)}>
          {takesAddress && (
            <input
              className="input"
              type="url"
              aria-label={w.address(provider.title)}
              placeholder={w.addressHint}
              value={baseUrl}
              onChange={(event) => setBaseUrl(event.target.value)}
            />
          )}
          <input
            className="input"
            type="password"
            autoComplete="off"
            spellCheck={false}
            aria-label={w.key(provider.title)}
            placeholder={takesAddress ? w.keyOrWord : w.keyHint}
            value={key}
            onChange={(event) => setKey(event.target.value.trim())}
          />
          <button type="submit" className="button" disabled={key === ""}>
            {strings.common.save}
          </button>
          {provider.key.from === "stored" && (
            <button type="button" className="button plain" onClick={() => void forget()}>
              {w.forget}
            </button>
          )}
        </form>
      )}
    </li>
  );
}
