import type { ProviderView, RouteInput, Routes } from "@holdfast/protocol";
import { type FormEvent, useEffect, useId, useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { groupModels, modelTitle } from "../models/group-models.ts";
import { useModelSettings } from "../models/model-menu.tsx";
import { isRehearsal, type ModelList } from "../models/models-store.ts";
import { strings } from "../strings/strings.ts";
import { ModelRoles } from "./model-roles.tsx";

type Provider = RouteInput<Routes["putSecret"]>["params"]["provider"];

const keyedProviders: readonly Provider[] = [
  "anthropic",
  "openai",
  "google",
  "openai-compatible",
  "ollama",
];

/** A longer list shows only the first matches. */
const maxShown = 200;

/** Models and provider keys. A key is sent to the host and never read back. */
export function ModelSettings() {
  const { models } = useApp();
  const list = useStore(models);
  const [search, setSearch] = useState("");
  useEffect(() => void models.refresh(), [models]);
  useKeyChecks();
  if (list === null) return null;
  const t = strings.models;
  const query = search.trim().toLowerCase();
  const shown = list.models.filter((model) =>
    `${model.name} ${modelTitle(model)}`.toLowerCase().includes(query),
  );
  const warning = list.models.find(({ name }) => name === list.usual)?.warning;
  return (
    <>
      {isRehearsal(list.usual) && <p className="callout info">{strings.welcome.rehearsal}</p>}
      <DefaultModel list={list} />
      <ModelRoles list={list} />
      <section className="settings-section">
        <h3>{t.keys}</h3>
        <p className="quiet">{t.keysHint}</p>
        <ul className="settings-cards">
          {list.providers.map((provider) => (
            <ProviderRow key={provider.provider} provider={provider} />
          ))}
        </ul>
      </section>
      <section className="settings-section">
        <h3>{t.all}</h3>
        <p className="quiet">{t.pricesAsOf(list.tableDate)}</p>
        {warning !== undefined && <p className="callout">{warning}</p>}
        {list.models.length > maxShown && (
          <input
            className="input"
            type="search"
            aria-label={t.search}
            placeholder={t.search}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <section className="table models-table" aria-label={t.all} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>{strings.composer.model}</th>
                <th className="align-right">{t.windowTitle}</th>
                <th className="align-right">{t.inputPrice}</th>
                <th className="align-right">{t.outputPrice}</th>
                <th>{strings.settings.status}</th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, maxShown).map(({ name, title, window, price, usable }) => (
                <tr key={name}>
                  <td title={name}>{modelTitle({ name, title })}</td>
                  <td className="align-right">{window.toLocaleString()}</td>
                  <td className="align-right">{price === null ? "–" : t.dollars(price.input)}</td>
                  <td className="align-right">{price === null ? "–" : t.dollars(price.output)}</td>
                  <td>{name === list.usual ? t.usual : usable ? t.usable : t.notUsable}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </section>
    </>
  );
}

function DefaultModel({ list }: { list: ModelList }) {
  const id = useId();
  const settings = useModelSettings();
  const t = strings.models;
  return (
    <section className="settings-section">
      <h3>
        <label htmlFor={id}>{t.defaultTitle}</label>
      </h3>
      <p className="quiet">{t.defaultHint}</p>
      <select
        id={id}
        className="input"
        value={list.usual}
        onChange={(event) => void settings.setDefault(event.target.value)}
      >
        {groupModels(list, "").groups.map(({ title, models: members }) => (
          <optgroup key={title} label={title}>
            {members.map((model) => (
              <option key={model.name} value={model.name}>
                {modelTitle(model)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </section>
  );
}

/** Asks each provider that has not said anything yet, so that a wrong key never looks right. */
function useKeyChecks(): void {
  const { client, models } = useApp();
  useEffect(() => {
    void (async () => {
      const listed = await client.listModels();
      if (!listed.ok) return;
      const due = listed.value.providers.filter(
        ({ usable, check }) => usable && check?.state === "unverified",
      );
      const names = due.flatMap(({ provider }) => keyedProviders.filter((id) => id === provider));
      if (names.length === 0) return;
      await Promise.all(names.map((provider) => client.checkProvider({ params: { provider } })));
      await models.refresh();
    })();
  }, [client, models]);
}

function dotOf({ usable, check }: ProviderView): string {
  if (!usable) return "off";
  if (check?.state === "verified") return "";
  return check?.state === "rejected" ? "warn" : "off";
}

function statusText({ usable, key, check, provider }: ProviderView): string {
  const t = strings.models;
  const from = t.from[key.from](key.name ?? "");
  if (!usable || check === undefined) return from;
  if (key.from !== "none") return `${from}, ${t.check[check.state]}`;
  return provider === "ollama" || provider === "openai-compatible"
    ? t.serverCheck[check.state]
    : from;
}

/** The problem with a key. Without a key, the other ways to set one: the field itself shows that it is missing. */
function ProviderHint({ provider: { provider, key, problem } }: { provider: ProviderView }) {
  if (problem === undefined) return null;
  const alternatives: Readonly<Record<string, string>> = strings.models.orSet;
  const hint = key.from === "none" ? (alternatives[provider] ?? problem) : problem;
  return <p className="quiet">{hint}</p>;
}

function ProviderRow({ provider }: { provider: ProviderView }) {
  const { client, models, toasts } = useApp();
  const [key, setKey] = useState("");
  const [baseUrl, setBaseUrl] = useState(provider.baseUrl ?? "");
  const t = strings.models;
  const name = keyedProviders.find((id) => id === provider.provider);
  const takesBaseUrl = name === "openai-compatible" || name === "ollama";

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (name === undefined || key === "") return;
    const address = baseUrl.trim();
    const body = { key, ...(takesBaseUrl && address !== "" && { baseUrl: address }) };
    const result = await client.putSecret({ params: { provider: name }, body });
    if (result.ok) setKey("");
    await models.refresh();
    if (!result.ok) return toasts.show(problemText(result.error));
    const saved = models.read()?.providers.find((other) => other.provider === name);
    toasts.show(saved?.check?.state === "verified" ? t.saved : t.savedUnverified);
  }
  async function checkProvider(id: Provider): Promise<void> {
    const result = await client.checkProvider({ params: { provider: id } });
    if (!result.ok) toasts.show(problemText(result.error));
    await models.refresh();
  }
  async function forget(): Promise<void> {
    if (name === undefined) return;
    const result = await client.deleteSecret({ params: { provider: name } });
    toasts.show(result.ok ? t.forgotten : problemText(result.error));
    await models.refresh();
  }

  return (
    <li className="settings-card">
      <div className="row">
        <span className={`dot ${dotOf(provider)}`} />
        <strong>{provider.title}</strong>
        <span className="quiet">{statusText(provider)}</span>
        {provider.usable && name !== undefined && (
          <button
            type="button"
            className="button plain small"
            aria-label={t.checkAgainNamed(provider.title)}
            onClick={() => void checkProvider(name)}
          >
            {t.checkAgain}
          </button>
        )}
      </div>
      <ProviderHint provider={provider} />
      {name !== undefined && (
        <form className="row" onSubmit={(event) => void save(event)}>
          {takesBaseUrl && (
            <input
              className="input"
              type="url"
              aria-label={t.address(provider.title)}
              placeholder={t.addressHint}
              value={baseUrl}
              onChange={(event) => setBaseUrl(event.target.value)}
            />
          )}
          <input
            className="input"
            type="password"
            autoComplete="off"
            spellCheck={false}
            aria-label={t.key(provider.title)}
            placeholder={takesBaseUrl ? t.keyOrAnyWord : t.keyHint}
            value={key}
            onChange={(event) => setKey(event.target.value.trim())}
          />
          <button type="submit" className="button" disabled={key === ""}>
            {strings.common.save}
          </button>
          {provider.key.from === "stored" && (
            <button type="button" className="button plain" onClick={() => void forget()}>
              {t.forget}
            </button>
          )}
        </form>
      )}
    </li>
  );
}
