package lapsedb.mongo;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/** Stands between a client and a server, and notes by what the messages that pass are compressed. */
final class Relay implements AutoCloseable {
    private static final int HEADER = 16;
    private static final int OP_COMPRESSED = 2012;
    /** Where the number of the compressor is in a compressed message, after the first opcode and the size. */
    private static final int COMPRESSOR = HEADER + 8;

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int to;
    private final Set<Byte> requests = new ConcurrentSkipListSet<>();
    private final Set<Byte> answers = new ConcurrentSkipListSet<>();

    Relay(int to) throws IOException {
        this.to = to;
        run(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** The numbers of the compressors of requests: 1 is snappy, 2 zlib, 3 zstd. */
    Set<Byte> requests() {
        return requests;
    }

    Set<Byte> answers() {
        return answers;
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void run(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException closed) {
                // The end of a connection, or of the relay.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listener.accept();
            Socket server = new Socket(InetAddress.getLoopbackAddress(), to);
            run(() -> pass(client, server, requests));
            run(() -> pass(server, client, answers));
        }
    }

    private static void pass(Socket from, Socket to, Set<Byte> seen) throws IOException {
        try (from; to) {
            DataInputStream in = new DataInputStream(from.getInputStream());
            OutputStream out = to.getOutputStream();
            while (true) {
                byte[] length = new byte[4];
                in.readFully(length);
                ByteBuffer message = ByteBuffer.allocate(ByteBuffer.wrap(length).order(ByteOrder.LITTLE_ENDIAN).getInt())
                        .order(ByteOrder.LITTLE_ENDIAN).put(length);
                in.readFully(message.array(), 4, message.capacity() - 4);
                if (message.getInt(12) == OP_COMPRESSED) {
                    seen.add(message.get(COMPRESSOR));
                }
                out.write(message.array());
            }
        } catch (EOFException end) {
            // Both ends are closed with it.
        }
    }
}
