import type { McpServerView } from "@holdfast/protocol";
import { type FormEvent, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { TextField } from "../form-fields.tsx";
import { SecretField } from "./fields.tsx";

type Step =
  | { readonly kind: "idle" }
  | { readonly kind: "link"; readonly link: string }
  /** The authorisation server registers no programs by itself. */
  | { readonly kind: "client"; readonly why: string };

interface McpSignInProps {
  readonly server: McpServerView;
  readonly onChanged: () => void;
}

/** Signs in to a server and out of it. */
export function McpSignIn({ server: { name, signIn }, onChanged }: McpSignInProps) {
  const { client, toasts } = useApp();
  const [step, setStep] = useState<Step>({ kind: "idle" });
  const [id, setId] = useState("");
  const [secret, setSecret] = useState("");
  const t = strings.mcp;

  async function begin(): Promise<void> {
    const given = id.trim() === "" ? {} : { clientId: id.trim() };
    const body = { ...given, ...(secret.trim() !== "" && { clientSecret: secret.trim() }) };
    const result = await client.signInToMcpServer({ params: { name }, body });
    if (result.ok) return setStep({ kind: "link", link: result.value.link });
    const why = problemText(result.error);
    const isUnregistered =
      result.error.kind === "problem" && result.error.code === "mcp_client_needed";
    if (isUnregistered) setStep({ kind: "client", why });
    else toasts.show(why);
  }

  async function signOut(): Promise<void> {
    const result = await client.signOutOfMcpServer({ params: { name } });
    toasts.show(result.ok ? t.signedOut(name) : problemText(result.error));
    onChanged();
  }

  if (signIn === "done")
    return (
      <p className="row">
        <span className="quiet">{t.signedIn}</span>
        <button
          type="button"
          className="button plain"
          aria-label={t.signOutNamed(name)}
          onClick={() => void signOut()}
        >
          {t.signOut}
        </button>
      </p>
    );
  return (
    <>
      <p className="trouble">{t.signInNeeded}</p>
      {step.kind === "link" ? (
        <p>
          <a className="button primary" href={step.link} target="_blank" rel="noreferrer">
            {t.signInLink(name)}
          </a>{" "}
          <span className="quiet">{t.signInLead}</span>
        </p>
      ) : (
        <form
          className="settings-form"
          aria-label={t.signInNamed(name)}
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            void begin();
          }}
        >
          {step.kind === "client" && (
            <>
              <p className="quiet">{t.clientLead}</p>
              <p className="quiet">{step.why}</p>
              <TextField label={t.clientId} value={id} onChange={setId} />
              <SecretField label={t.clientSecret} value={secret} onChange={setSecret} />
            </>
          )}
          <button type="submit" className="button primary" aria-label={t.signInNamed(name)}>
            {t.signIn}
          </button>
        </form>
      )}
    </>
  );
}
