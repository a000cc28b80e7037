import { StoreFailure } from "@holdfast/engine";
import type { Context } from "hono";
import { SecretsLocked } from "../../../ops/secrets/encrypted-rows.ts";
import type { HostEnv, Route } from "../../../server/http/routing.ts";
import { escapeHtml } from "../../../util/escape-html.ts";
import { clientMetadata } from "./begin-sign-in.ts";
import { callbackPath, clientDocumentPath, type SignIns, ticketPath } from "./sign-ins.ts";
import { signInStrings as t } from "./strings.ts";

export interface SignInRouteDeps {
  readonly signIns: SignIns;
  /** The address of a server that can be signed in to. */
  readonly urlOf: (name: string) => string | null;
  readonly address: () => string | null;
}

/**
 * Where browsers come from messages and from authorisation servers. Nobody is signed in to the page there: what lets
 * them in is the link's ticket, or the state that only this sign-in has.
 */
export function signInPageRoutes({ signIns, urlOf, address }: SignInRouteDeps): readonly Route[] {
  async function callback(c: Context<HostEnv>): Promise<Response> {
    const finished = await signIns.finish(new URL(c.req.url).searchParams, urlOf);
    switch (finished.status) {
      case "signed in":
        return page(c, 200, t.signedIn(finished.name), t.signedInLead);
      case "failed":
        return page(c, 400, t.failed(finished.name), finished.message, t.again);
      case "unknown":
        return page(c, 400, t.unknown, t.again);
    }
  }

  /** Asks first: programs that only look at a link, for a preview, begin nothing. */
  async function ticket(c: Context<HostEnv>): Promise<Response> {
    const name = await signIns.findTicket(c.req.param("ticket") ?? "", urlOf);
    const url = name === null ? null : urlOf(name);
    if (name === null || url === null) return page(c, 404, t.oldLink, t.again);
    if (c.req.query("continue") === undefined)
      return page(c, 200, t.ask(name), t.askLead(new URL(url).origin), {
        href: "?continue",
        text: t.go,
      });
    const begun = await signIns.begin(name, url);
    switch (begun.status) {
      case "begun":
        return c.redirect(begun.link, 302);
      case "client needed":
        return page(c, 502, t.failed(name), t.clientNeeded(begun.redirectUri));
      case "no address":
        return page(c, 502, t.failed(name), t.noAddress);
      case "failed":
        return page(c, 502, t.failed(name), begun.message, t.again);
    }
  }

  function clientDocument(c: Context<HostEnv>): Response {
    const own = address();
    if (own === null) return c.json({}, 404);
    return c.json({
      client_id: `${own}${clientDocumentPath}`,
      ...clientMetadata(`${own}${callbackPath}`),
    });
  }

  const guarded =
    (handle: (c: Context<HostEnv>) => Promise<Response>) => async (c: Context<HostEnv>) => {
      try {
        return await handle(c);
      } catch (error) {
        if (!(error instanceof StoreFailure) && !(error instanceof SecretsLocked)) throw error;
        return page(c, 503, t.storeAway, t.again);
      }
    };

  const open = { method: "GET", policy: "open" } as const;
  return [
    { ...open, path: callbackPath, handle: guarded(callback) },
    { ...open, path: `${ticketPath}/:ticket`, handle: guarded(ticket) },
    { ...open, path: clientDocumentPath, handle: clientDocument },
  ];
}

type Piece = string | { readonly href: string; readonly text: string };

/** Servers have written some of it, so all of it is escaped. Nothing on it loads or runs anything. */
function page(
  c: Context<HostEnv>,
  status: 200 | 400 | 404 | 502 | 503,
  title: string,
  ...pieces: readonly Piece[]
): Response {
  const paragraphs = pieces.map((piece) =>
    typeof piece === "string"
      ? `<p>${escapeHtml(piece)}</p>`
      : `<p><a rel="noreferrer" href="${escapeHtml(piece.href)}">${escapeHtml(piece.text)}</a></p>`,
  );
  return c.html(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head><body><h1>${escapeHtml(title)}</h1>${paragraphs.join("")}</body></html>`,
    status,
    { "cache-control": "no-store" },
  );
}
