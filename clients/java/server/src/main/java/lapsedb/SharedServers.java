package lapsedb;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/**
 * After the last test of a module, stops the servers that its tests share and none of them closes, and holds each to exit code 0.
 * JUnit finds it in every module that has this one on its class path.
 */
public final class SharedServers implements BeforeAllCallback {
    @Override
    public void beforeAll(ExtensionContext context) {
        context.getRoot().getStore(Namespace.GLOBAL)
                .computeIfAbsent(SharedServers.class, first -> (AutoCloseable) Server::closeAll, AutoCloseable.class);
    }
}
