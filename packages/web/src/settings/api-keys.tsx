import { type FormEvent, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { CopyButton } from "../ui/copy-and-save.tsx";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { Choice, TextField } from "./form-fields.tsx";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";

/** A secret that was just created, which cannot be read again. */
interface NewSecret {
  readonly name: string;
  readonly secret: string;
}

/** Keys of programs, each with the rights profile that it names. */
export function ApiKeySettings() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.listKeys());
  const [rights] = useHostQuery(() => client.readRights());
  const [shown, setShown] = useState<NewSecret | null>(null);
  const t = strings.apiKeys;
  const profiles = rights.kind === "loaded" ? rights.value.profiles.map(({ name }) => name) : [];

  async function create(name: string, profile: string): Promise<boolean> {
    const result = await client.createKey({ body: { name, profile } });
    if (result.ok) setShown({ name, secret: result.value.secret });
    else toasts.show(problemText(result.error));
    refetch();
    return result.ok;
  }

  async function revoke(id: string): Promise<void> {
    const result = await client.revokeKey({ params: { id } });
    toasts.show(result.ok ? t.revoked : problemText(result.error));
    refetch();
  }

  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ keys }) => (
        <>
          <ul className="facts-list">
            {keys
              .filter(({ revokedAt }) => revokedAt === null)
              .map(({ id, name, profile, lastUsedAt }) => (
                <li key={id}>
                  <span className="fact-text">
                    <strong>{revealInvisible(name)}</strong>
                    <span className="quiet">
                      {t.facts(profile, lastUsedAt === null ? null : formatMoment(lastUsedAt))}
                    </span>
                  </span>
                  <button
                    type="button"
                    className="button plain"
                    aria-label={t.revokeNamed(name)}
                    onClick={() => void revoke(id)}
                  >
                    {t.revoke}
                  </button>
                </li>
              ))}
          </ul>
          {shown !== null && <Secret shown={shown} onClose={() => setShown(null)} />}
          {profiles.length > 0 && <KeyForm profiles={profiles} onCreate={create} />}
        </>
      )}
    </SettingsGroup>
  );
}

function Secret({ shown, onClose }: { shown: NewSecret; onClose: () => void }) {
  const t = strings.apiKeys;
  return (
    <section className="callout info secret" aria-label={t.secretOf(shown.name)}>
      <h4>{t.secretOf(shown.name)}</h4>
      <p>{t.secretLead}</p>
      <p className="row">
        <code dir="ltr">{shown.secret}</code>
        <CopyButton text={shown.secret} label={`${strings.common.copy}: ${t.secret}`} />
      </p>
      <button type="button" className="button" onClick={onClose}>
        {strings.programs.confirmStored}
      </button>
    </section>
  );
}

interface KeyFormProps {
  readonly profiles: readonly string[];
  readonly onCreate: (name: string, profile: string) => Promise<boolean>;
}

function KeyForm({ profiles, onCreate }: KeyFormProps) {
  const [name, setName] = useState("");
  const [profile, setProfile] = useState("program");
  const t = strings.apiKeys;
  async function create(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (await onCreate(name.trim(), profile)) setName("");
  }
  return (
    <form className="settings-form" aria-label={t.form} onSubmit={(event) => void create(event)}>
      <TextField label={t.name} value={name} onChange={setName} />
      <Choice
        label={strings.rights.profile}
        value={profile}
        options={Object.fromEntries(profiles.map((each) => [each, each]))}
        onChange={setProfile}
      />
      <button type="submit" className="button" disabled={name.trim() === ""}>
        {t.create}
      </button>
    </form>
  );
}
