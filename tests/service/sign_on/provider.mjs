// A provider of OpenID Connect for the tests: somebody signs in as ROLE.DOCKET.NAME, with any password.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, port, address] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "likewise",
    client_secret: "a-secret-of-the-tests",
    redirect_uris: [`${address}/console/sign-on/return`],
    post_logout_redirect_uris: [`${address}/console/sign-in`],
    backchannel_logout_uri: `${address}/console/sign-on/logout`,
    backchannel_logout_session_required: true,
    grant_types: ["authorization_code"],
    response_types: ["code"],
  }],
  scopes: ["openid", "profile", "likewise"],
  claims: {
    openid: ["sub", "sid"],
    profile: ["preferred_username"],
    likewise: ["likewise_role", "likewise_docket"],
  },
  conformIdTokenClaims: false,
  cookies: { keys: ["not a secret"] },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
  // Its own way of fetching refuses loopback, which is all there is in a test.
  fetch: (url, { dispatcher, ...rest }) => fetch(url, rest),
  async findAccount(_, id) {
    const [role, docket, name] = id.split(".");
    return {
      accountId: id,
      claims: async () => ({
        sub: id, preferred_username: name, likewise_role: role, likewise_docket: docket || undefined,
      }),
    };
  },
});
provider.on("server_error", (_, error) => console.error(error));
provider.on("backchannel.error", (_, error) => console.error(error));
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
