import type { RouteInput, Routes, WebSearchProviderView } from "@holdfast/protocol";
import { type FormEvent, useId, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import {
  find,
  type HostSettings,
  isConfigured,
  SettingChoice,
  SettingNote,
  useHostSettings,
} from "./host-settings.tsx";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";

interface SearchProviders {
  readonly providers: readonly WebSearchProviderView[];
}

/** Who searches the web. A key is sent to the host and never read back. */
export function WebSearchSettings() {
  const { client } = useApp();
  const { query: settings, save } = useHostSettings();
  const [query, refetch] = useHostQuery<SearchProviders>(() => client.listSearchProviders());
  const t = strings.webSearch;
  const saveSetting: typeof save = async (name, value) => {
    await save(name, value);
    refetch();
  };
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ providers }) => {
        const used = providers.find((provider) => provider.used);
        return (
          <>
            <p>{used === undefined ? t.off : t.used(used.title)}</p>
            {settings.kind === "loaded" && (
              <SettingChoice
                label={t.provider}
                options={t.providers}
                setting={find(settings.value.settings, "searchProvider")}
                onSave={saveSetting}
              />
            )}
            <ul className="settings-cards">
              {providers.map((provider) => (
                <li key={provider.provider} className="settings-card">
                  <ProviderHead provider={provider} onChange={refetch} />
                  {provider.provider !== "searxng" ? (
                    <KeyForm name={provider.provider} provider={provider} onChange={refetch} />
                  ) : (
                    settings.kind === "loaded" && (
                      <AddressForm
                        key={textOf(settings.value)}
                        settings={settings.value}
                        onSave={(value) => saveSetting("searxngUrl", value)}
                      />
                    )
                  )}
                </li>
              ))}
            </ul>
          </>
        );
      }}
    </SettingsGroup>
  );
}

interface ProviderProps {
  readonly provider: WebSearchProviderView;
  readonly onChange: () => void;
}

function ProviderHead({ provider, onChange }: ProviderProps) {
  const { client, toasts } = useApp();
  const { title, usable, check } = provider;
  const t = strings.models;
  async function checkAgain(): Promise<void> {
    const params = { provider: provider.provider };
    const result = await client.checkSearchProvider({ params });
    if (!result.ok) toasts.show(problemText(result.error));
    onChange();
  }
  return (
    <>
      <div className="row">
        <span className={`dot ${dotOf(provider)}`} />
        <strong>{title}</strong>
        <span className="quiet">{statusText(provider)}</span>
        {usable && (
          <button
            type="button"
            className="button plain small"
            aria-label={t.checkAgainNamed(title)}
            onClick={() => void checkAgain()}
          >
            {check?.state === "unverified" ? strings.webSearch.check : t.checkAgain}
          </button>
        )}
      </div>
      {check?.detail !== undefined && <p className="quiet">{check.detail}</p>}
    </>
  );
}

function dotOf({ usable, check }: WebSearchProviderView): string {
  if (!usable || check === undefined || check.state === "unverified") return "off";
  return check.state === "verified" ? "" : "warn";
}

function statusText({ provider, key, usable, check }: WebSearchProviderView): string {
  const t = strings.models;
  const hasAddress = provider === "searxng";
  const from = hasAddress ? "" : t.from[key.from](key.name ?? "");
  const state = usable && check !== undefined ? strings.webSearch.checks[check.state] : "";
  if (hasAddress && !usable) return strings.webSearch.noAddress;
  return [from, state].filter((text) => text !== "").join(", ");
}

interface KeyFormProps extends ProviderProps {
  readonly name: RouteInput<Routes["putSearchKey"]>["params"]["provider"];
}

function KeyForm({ name, provider: { title, key }, onChange }: KeyFormProps) {
  const { client, toasts } = useApp();
  const [written, setWritten] = useState("");
  const t = strings.models;

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (written === "") return;
    const result = await client.putSearchKey({
      params: { provider: name },
      body: { key: written },
    });
    if (result.ok) setWritten("");
    toasts.show(result.ok ? strings.webSearch.saved : problemText(result.error));
    onChange();
  }
  async function forget(): Promise<void> {
    const result = await client.deleteSearchKey({ params: { provider: name } });
    toasts.show(result.ok ? t.forgotten : problemText(result.error));
    onChange();
  }

  return (
    <form className="row" onSubmit={(event) => void save(event)}>
      <input
        className="input"
        type="password"
        autoComplete="off"
        spellCheck={false}
        aria-label={t.key(title)}
        placeholder={t.keyHint}
        value={written}
        onChange={(event) => setWritten(event.target.value.trim())}
      />
      <button type="submit" className="button" disabled={written === ""}>
        {strings.common.save}
      </button>
      {key.from === "stored" && (
        <button type="button" className="button plain" onClick={() => void forget()}>
          {t.forget}
        </button>
      )}
    </form>
  );
}

function textOf({ settings }: HostSettings): string {
  const value = find(settings, "searxngUrl")?.value;
  return typeof value === "string" ? value : "";
}

interface AddressFormProps {
  readonly settings: HostSettings;
  readonly onSave: (value: string | undefined) => Promise<void>;
}

function AddressForm({ settings, onSave }: AddressFormProps) {
  const id = useId();
  const saved = textOf(settings);
  const [address, setAddress] = useState(saved);
  const setting = find(settings.settings, "searxngUrl");
  const t = strings.webSearch;
  if (setting === null) return null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const trimmed = address.trim();
        void onSave(trimmed === "" ? undefined : trimmed);
      }}
    >
      <div className="row">
        <label className="quiet" htmlFor={id}>
          {t.address}
        </label>
        <input
          id={id}
          className="input"
          type="url"
          placeholder={t.addressHint}
          dir="ltr"
          disabled={isConfigured(setting)}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        <button
          type="submit"
          className="button"
          disabled={isConfigured(setting) || address.trim() === saved}
        >
          {strings.common.save}
        </button>
      </div>
      <p className="quiet">{t.addressNote}</p>
      {isConfigured(setting) && (
        <SettingNote label={t.address} setting={setting} onSave={async () => undefined} />
      )}
    </form>
  );
}
