import { z } from "zod";

// Imported first, because zod reads it when a schema is created. The content security policy forbids `eval`, so zod
// need not try it.
z.config({ jitless: true });
