import purifier from "dompurify";

/** The HTML that people write by hand in Markdown: no images, forms, styles or ids. */
const allowedMarkup = {
  ALLOWED_TAGS:
    "a b blockquote br code dd del details dl dt em hr i ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td th thead tr u ul var".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "title", "align", "colspan", "rowspan", "open", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};
const allowedCodeMarkup = {
  ALLOWED_TAGS: ["span"],
  ALLOWED_ATTR: ["class"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** Sanitised HTML. Only this file creates it. */
export type SafeHtml = string & { readonly safe: unique symbol };

interface Policy {
  createHTML(text: string): string;
  createScriptURL(text: string): string;
}
interface PolicyFactory {
  createPolicy(name: string, rules: Policy): Policy;
}

/**
 * The page's only Trusted Types policy. It never leaves this file: DOMPurify uses it to parse and to mark its result, and
 * the browser refuses any other text as markup.
 */
const { trustedTypes } = globalThis as { readonly trustedTypes?: PolicyFactory };
const policy = trustedTypes?.createPolicy("holdfast", {
  createHTML: (text) => text,
  createScriptURL: () => {
    throw new Error("Script URLs are not allowed.");
  },
});

purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

function purify(html: string, allowed: typeof allowedMarkup | typeof allowedCodeMarkup): SafeHtml {
  const trustedTypesOptions = policy && { TRUSTED_TYPES_POLICY: policy, RETURN_TRUSTED_TYPE: true };
  return purifier.sanitize(html, {
    ...allowed,
    ...trustedTypesOptions,
  } as object) as unknown as SafeHtml;
}

export const sanitiseMarkup = (html: string): SafeHtml => purify(html, allowedMarkup);
export const sanitiseCode = (html: string): SafeHtml => purify(html, allowedCodeMarkup);
